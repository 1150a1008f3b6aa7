# Copyright 2026 edge_llm_ros contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""One process with an engine, from its start to its end, as its parent sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import itertools
import logging
import os
from pathlib import Path
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from edge_llm_ros.engine import messages
from edge_llm_ros.engine.wire import encode, Unframer, WireError
from edge_llm_ros.flow.engine import PrefillProgress, TokensProgress
from edge_llm_ros.flow.errors import ContextFull, EngineError

logger = logging.getLogger(__name__)

_MODULE = 'edge_llm_ros.engine.host_process'
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_END_SECONDS = 3.0  # after it was asked to end
_REAP_SECONDS = 5.0  # after SIGKILL, and after its pipes have ended
_ERRORS: dict[str, type[Exception]] = {
    error.__name__: error for error in (EngineError, ContextFull, WireError,
                                        AssertionError)}
_MORE_FOLLOW = (messages.Loading, PrefillProgress, TokensProgress)
_SAYS_WHY = ('ASSERT', 'error', 'Error', 'failed', 'terminate')


class Call:
    """
    What was asked of the engine, and the answers as they come.

    :param process: that was asked
    """

    def __init__(self, process: EngineProcess) -> None:
        self._process = process
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.heard = time.monotonic()  # when the last sign of life came

    def put(self, answer: Any) -> None:
        """Take an answer; None for the end of the process."""
        self.heard = time.monotonic()
        self._answers.put(answer)

    def next(self, seconds: float) -> Any:
        """
        Return the next answer, or None if there is none in time.

        :raises EngineError: if it could not be done, or the process ended
        """
        try:
            answer = self._answers.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if answer is None:
            raise EngineError(self._process.why)
        if isinstance(answer, messages.Failed):
            raise _ERRORS.get(answer.error, EngineError)(answer.reason)
        return answer


class EngineProcess:
    """
    A process with an engine.

    One thread starts it, reads from it and reaps it: it must be the same, since the kernel takes
    the end of the thread that started a process for the end of its parent. Another one writes, so
    that a process that does not read blocks no caller.

    :param on_end: told why it ended, before anybody can see that it did
    :raises EngineError: if it cannot be started
    """

    def __init__(self, on_end: Callable[[str], None]) -> None:
        self._on_end = on_end
        self.why = ''  # it ended
        self.end_time = 0.0
        self.starting: deque[Call] = deque()  # what must be done before a request
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._numbers = itertools.count(1)
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._last_words: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        started = threading.Event()
        self._reader = threading.Thread(
            target=self._live, args=(started,), name='engine process', daemon=True)
        self._reader.start()
        started.wait()
        if self._process is None:
            raise EngineError(self.why)

    @property
    def alive(self) -> bool:
        """Say whether it can be asked."""
        return not self.ended.is_set()

    @property
    def pid(self) -> int:
        """Return its id."""
        assert self._process is not None
        return self._process.pid

    def hindrances(self) -> tuple[int, float]:
        """
        Return how often it waited for a page from disk, and how long for a core, so far.

        Zeros where unknown.
        """
        try:
            faults = int(Path(f'/proc/{self.pid}/stat').read_text().rpartition(')')[2].split()[9])
            waited = [int(file.read_text().split()[1])
                      for file in Path(f'/proc/{self.pid}/task').glob('*/schedstat')]
        except (OSError, ValueError, IndexError):
            return 0, 0.0
        return faults, sum(waited) * 1e-9

    def call(self, message: Any) -> Call:
        """
        Ask something that is answered.

        :raises EngineError: if the process has ended, or the message cannot be sent
        """
        number, call = next(self._numbers), Call(self)
        frame = encode(number, message)
        with self._lock:
            if self.ended.is_set():
                raise EngineError(self.why)
            self._calls[number] = call
        self._outbox.put(frame)
        return call

    def post(self, message: Any) -> None:
        """Say something that is not answered; a process that has ended does not hear it."""
        self._outbox.put(encode(0, message))

    def kill(self, why: str) -> None:
        """End it at once and wait until it has ended."""
        self.why = self.why or why
        assert self._process is not None
        self._process.kill()
        self.ended.wait(_REAP_SECONDS)

    def close(self) -> None:
        """Let it end what runs and then itself; a second call does nothing."""
        self.why = self.why or 'the engine is closed.'
        self.post(messages.Close())
        if not self.ended.wait(_END_SECONDS):
            self.kill('the engine is closed.')
        self._reader.join(_REAP_SECONDS)

    # The thread that starts, reads and reaps

    def _live(self, started: threading.Event) -> None:
        # Inherited: so that a ctrl-C does not reach a process that cannot ignore it yet.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pipes: list[int] = []
        try:
            for _ in range(3):
                pipes += os.pipe()
            self._start(pipes)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self.why = f'the engine process cannot be started: {error}.'
            self.ended.set()
            for pipe in pipes:
                os.close(pipe)
            return
        finally:
            started.set()
        _, write, read, _, log, _ = pipes
        writer = threading.Thread(target=self._write, args=(write,), name='to the engine process',
                                  daemon=True)
        writer.start()
        try:
            self._read(read, log)
        except WireError as error:
            self.why = self.why or f'the engine process cannot be understood: {error}'
        except Exception as error:
            logger.exception('the engine process is given up')
            self.why = self.why or f'{type(error).__name__}: {error}'
        self._bury()
        self._outbox.put(None)
        writer.join()
        for pipe in (write, read, log):
            os.close(pipe)

    def _start(self, pipes: list[int]) -> None:
        requests, write, read, answers, log, output = pipes
        path = [entry or os.getcwd() for entry in sys.path]
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(path), 'PYTHONSAFEPATH': '1',
                       'GGML_NO_BACKTRACE': '1'}  # it would start a debugger
        self._process = subprocess.Popen(
            [sys.executable, '-m', _MODULE, str(requests), str(answers), str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment,
            pass_fds=(requests, answers))
        for pipe in (requests, answers, output):
            os.close(pipe)

    def _read(self, read: int, log: int) -> None:
        """Read answers and what is printed, until there are no more answers."""
        unframer, rest = Unframer(), b''
        poll = select.poll()
        for pipe in (read, log):
            poll.register(pipe, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if log in ready:
                printed = os.read(log, 1 << 16)
                if not printed:
                    poll.unregister(log)
                *lines, rest = (rest + printed).split(b'\n')
                self._tell(lines)
            if read in ready:
                data = os.read(read, 1 << 16)
                for number, message in unframer.feed(data):
                    self._take(number, message)
                if not data:
                    break
        while select.select([log], [], [], 0)[0] and (printed := os.read(log, 1 << 16)):
            rest += printed
        self._tell(rest.split(b'\n'))

    def _tell(self, lines: list[bytes]) -> None:
        """Log what the process printed: C libraries have no other way to speak."""
        for line in lines:
            if text := line.decode('utf-8', 'replace').rstrip():
                logger.warning('engine process: %s', text)
                self._last_words = [*self._last_words[-9:], text]

    def _take(self, number: int, message: Any) -> None:
        if isinstance(message, messages.LogLine):
            logging.getLogger(message.logger).log(message.level, '%s', message.text)
            return
        with self._lock:
            call = (self._calls.get if isinstance(message, _MORE_FOLLOW) else self._calls.pop)(
                number, None)
        if call is not None:
            call.put(message)

    def _bury(self) -> None:
        """Wait for the end of the process and tell it to all that wait."""
        assert self._process is not None
        try:
            self._process.wait(_REAP_SECONDS / 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if not self.why:  # else somebody has asked for it, and says so
            self.why = self._reason(self._process.returncode)
            logger.error('%s', self.why)
        self.end_time = time.monotonic()
        # First: who sees that it has ended, and has another one started, means that one.
        self._on_end(self.why)
        with self._lock:
            self.ended.set()
            calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            call.put(None)

    def _reason(self, code: int) -> str:
        words = [line for line in self._last_words
                 if any(word in line for word in _SAYS_WHY) and 'Fatal Python' not in line]
        said = f': {words[0]}' if words else ''
        if code >= 0:
            return f'the engine process ended with exit code {code}{said}.'
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f'signal {-code}'
        hint = ' (by hand, or since memory ran out)' if -code == signal.SIGKILL else ''
        return f'the engine process was ended by {name}{hint}{said}.'

    # The thread that writes

    def _write(self, pipe: int) -> None:
        while (frame := self._outbox.get()) is not None:
            rest = memoryview(frame)
            try:
                while rest:
                    rest = rest[os.write(pipe, rest):]
            except OSError:
                return  # it has ended, and its reader knows
