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

"""
The engine's own process: python -m edge_llm_ros.engine.host_process READ WRITE PARENT.

Started by engine_process.py. It reads messages from one pipe, answers through another, and ends
when the first one does. The main thread only reads, so that a cancel is seen at any moment;
everything that takes time is done by a second thread, in the order in which it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import ctypes
import faulthandler
import logging
import os
from pathlib import Path
import queue
import signal
import sys
import threading
import time
from typing import Any, NoReturn

from edge_llm_ros.engine import messages
from edge_llm_ros.engine.llama.vocabulary import Vocabulary
from edge_llm_ros.engine.llama.vocabulary_file import VocabularyFile
from edge_llm_ros.engine.local import LocalEngine, WARM_UP
from edge_llm_ros.engine.wire import encode, Unframer, WireError
from edge_llm_ros.flow.engine import GenerateRequest
from edge_llm_ros.flow.errors import EngineError

logger = logging.getLogger(__name__)

_OOM_SCORE = 800  # of 1000: where memory runs out, the robot's other nodes are not the victims
_END_SECONDS = 2.0  # for a running batch, and for what is being written to disk
_LOADING_SECONDS = 0.1  # between two signs of life
_SWITCH_SECONDS = 0.001  # between Python's threads: a cancel waits for its turn, too
_PR_SET_PDEATHSIG = 1


class _Answers:
    """
    Sends messages to the planner's process, from any thread.

    :param pipe: descriptor
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, call: int, message: Any) -> None:
        frame = memoryview(encode(call, message))
        try:
            with self._lock:
                while frame:
                    frame = frame[os.write(self._pipe, frame):]
        except BrokenPipeError:
            os._exit(1)  # nobody is left to be told


class _LogHandler(logging.Handler):
    """Hands log records to the planner's process."""

    def __init__(self, answers: _Answers) -> None:
        super().__init__()
        self._answers = answers

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._answers.send(0, messages.LogLine(
                record.levelno, record.name, self.format(record)))
        except WireError:
            self.handleError(record)


class _Host:
    """An engine that is asked through messages."""

    def __init__(self, answers: _Answers) -> None:
        self._answers = answers
        self._engine: LocalEngine | None = None
        self._file: VocabularyFile | None = None
        self._told = 0.0
        self._todo: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._requests: set[str] = set()  # read, and not ended
        self._worker = threading.Thread(target=self._work, name='engine', daemon=True)
        # Of the main thread; what is not here is done by the worker.
        self._at_once: dict[type, Callable[[Any], Any]] = {
            messages.Tokenize: lambda m: messages.Tokens(
                self._vocabulary().tokenize(m.text, m.special)),
            messages.Detokenize: self._pieces,
            messages.CheckGrammar: self._check_grammar,
            messages.MeasuredBatches: self._costs}

    # The main thread

    def serve(self, pipe: int) -> NoReturn:
        """Read messages until there are no more."""
        self._worker.start()
        unframer = Unframer()
        while data := os.read(pipe, 1 << 16):
            for call, message in unframer.feed(data):
                self._read(call, message)
        os._exit(0)

    def _read(self, call: int, message: Any) -> None:
        if self._engine is not None and self._file is not None:
            self._file.close()
            self._file = None
        answer = self._at_once.get(type(message))
        if answer is not None:
            self._answer(call, lambda: answer(message))
        elif isinstance(message, messages.Cancel):
            self._cancel([message.request_id] if message.request_id in self._requests else [])
        elif isinstance(message, messages.Close):
            self._end()
        else:
            if isinstance(message, messages.Load):
                self._prepare(message)
            elif name := _request(message):
                self._requests.add(name)
            self._todo.put((call, message))

    def _answer(self, call: int, work: Callable[[], Any]) -> None:
        try:
            self._answers.send(call, work())
        except Exception as error:
            if not isinstance(error, EngineError):
                logger.exception('a question could not be answered')
            self._answers.send(call, _failed(error))

    def _prepare(self, load: messages.Load) -> None:
        logging.getLogger('edge_llm_ros').setLevel(load.log_level)
        try:
            if load.vocabulary_first:
                self._file = VocabularyFile(load.config.model_path)
        except EngineError as error:
            logger.warning('%s', error)  # loading the model says so, too

    def _vocabulary(self) -> Vocabulary | LocalEngine:
        if self._engine is not None:
            return self._engine
        if self._file is None:
            raise EngineError('the model is not loaded.')
        return self._file.vocabulary

    def _pieces(self, message: messages.Detokenize) -> messages.Pieces:
        vocabulary = self._vocabulary()
        pieces = [vocabulary.detokenize([token]) for token in message.tokens]
        return messages.Pieces(tuple(map(len, pieces)), b''.join(pieces))

    def _check_grammar(self, message: messages.CheckGrammar) -> messages.Done:
        self._loaded().check_grammar(message.grammar)
        return messages.Done()

    def _costs(self, _: messages.MeasuredBatches) -> messages.Costs:
        costs = self._loaded().batch_costs()
        return messages.Costs(tuple(costs), tuple(costs.values()))

    def _cancel(self, requests: Iterable[str]) -> None:
        if self._engine is not None:
            for request in requests:
                self._engine.cancel(request)

    def _end(self) -> NoReturn:
        """End what runs, then everything: memory is given back by the end of the process."""
        if self._engine is not None:
            self._cancel(list(self._requests))
            self._todo.put(None)
            self._worker.join(_END_SECONDS)
        os._exit(0)

    # The second thread

    def _work(self) -> None:
        while (todo := self._todo.get()) is not None:
            call, message = todo
            try:
                self._do(call, message)
            except (EngineError, AssertionError) as error:
                self._answers.send(call, _failed(error))
            except Exception as error:
                # Nothing is known of the engine's state any more; a new process has a good one.
                logger.exception('the engine ends')
                self._answers.send(call, _failed(error))
                os._exit(1)
            finally:
                self._requests.discard(_request(message))

    def _do(self, call: int, message: Any) -> None:
        if isinstance(message, messages.Load):
            self._load(call, message)
        elif isinstance(message, GenerateRequest):
            for event in self._loaded().generate(message):
                self._answers.send(call, event)
        elif isinstance(message, messages.WarmUp):
            for progress in self._loaded().warm_up(message.tokens):
                self._answers.send(call, progress)
            self._answers.send(call, messages.Done())
        elif isinstance(message, messages.Pin):
            self._loaded().pin(message.session, message.pinned)
        elif isinstance(message, messages.Release):
            self._loaded().release(message.session)
        elif isinstance(message, messages.CheckIntegrity):
            self._loaded().check_integrity()
            self._answers.send(call, messages.Done())
        else:
            raise WireError(f'{type(message).__name__} is no question.')

    def _load(self, call: int, message: messages.Load) -> None:
        def tell(share: float) -> None:
            now = time.monotonic()
            if now - self._told > _LOADING_SECONDS:
                self._told = now
                self._answers.send(call, messages.Loading(share))

        self._engine = LocalEngine(message.config, progress=tell)
        self._answers.send(call, messages.Loaded(self._engine.info()))

    def _loaded(self) -> LocalEngine:
        if self._engine is None:
            raise EngineError('the model is not loaded.')
        return self._engine


def _request(message: Any) -> str:
    """Return the name by which a message can be canceled; empty for none."""
    if isinstance(message, GenerateRequest):
        return message.id
    return WARM_UP if isinstance(message, messages.WarmUp) else ''


def _failed(error: Exception) -> messages.Failed:
    if isinstance(error, (EngineError, AssertionError)):
        return messages.Failed(type(error).__name__, str(error))
    return messages.Failed(EngineError.__name__, f'{type(error).__name__}: {error}')


def _outlive_nobody(parent: int) -> None:
    """End with the process that started this one, whatever ends it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _be_the_first_victim() -> None:
    try:
        Path('/proc/self/oom_score_adj').write_text(str(_OOM_SCORE))
    except OSError as error:
        logger.warning('oom_score_adj cannot be set: %s', error)


def main(args: list[str]) -> int:
    """Serve until the pipe ends, and return only if that went wrong."""
    # A terminal's ctrl-C and a service manager's SIGTERM go to all processes of a group; the
    # planner ends its goals first, and then this process.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    reading, writing, parent = map(int, args)
    _outlive_nobody(parent)
    faulthandler.enable(all_threads=False)
    sys.setswitchinterval(_SWITCH_SECONDS)
    answers = _Answers(writing)
    log = logging.getLogger('edge_llm_ros')
    log.addHandler(_LogHandler(answers))
    log.propagate = False
    _be_the_first_victim()
    try:
        _Host(answers).serve(reading)
    except Exception:
        logger.exception('the engine ends')
        return 1


if __name__ == '__main__':
    # Not sys.exit(): a batch may be running, and would lose its library under its feet.
    os._exit(main(sys.argv[1:]))
