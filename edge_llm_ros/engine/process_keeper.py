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

"""Keeps one engine process alive: starts it, asks it, notices that it hangs, starts it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import logging
import threading
import time
from typing import Any

from edge_llm_ros.engine import messages
from edge_llm_ros.engine.engine_process import Call, EngineProcess
from edge_llm_ros.engine.restarts import Restarts
from edge_llm_ros.flow.engine import EngineConfig, ModelInfo
from edge_llm_ros.flow.errors import EngineError

logger = logging.getLogger(__name__)

LOADING_SECONDS = 120.0  # without a sign of life: a GPU's kernels may be compiled meanwhile
_LOOK_SECONDS = 0.05  # between two looks whether somebody still waits for the model
_STARTING_SECONDS = 30.0  # for an answer of a process that has just been started
_PROBE_SECONDS = 0.3  # in which a process that seems to hang is watched
_HINDERED = 0.1  # of that time, that its threads waited for a core
_MORE_TIME = 12  # times the limit, for a process that is hindered


@dataclass(frozen=True)
class ProcessState:
    """
    How the engine's process is.

    :param alive: whether it runs; if not, the next request starts it
    :param pid: of the process; 0 where none runs
    :param restarts: how often it was started again
    :param last_error: why it ended the last time; empty if it never did
    """

    alive: bool
    pid: int
    restarts: int
    last_error: str


class ProcessKeeper:
    """
    The one engine process that there is at a time.

    :param config: how the model is loaded
    :param progress: told the share of the model's file that is there
    """

    def __init__(self, config: EngineConfig, progress: Callable[[float], None]) -> None:
        self._config = config
        self._progress = progress
        self._lock = threading.Lock()  # of starting, and of what a start has to tell
        self._process: EngineProcess | None = None
        self._prefix: tuple[int, ...] | None = None
        self._pinned: set[str] = set()
        self._closed = False
        self._on_end: list[Callable[[str], None]] = []
        self.restarts = Restarts()
        self.info: ModelInfo | None = None

    @property
    def state(self) -> ProcessState:
        """Return how the process is; any thread may ask."""
        process = self._process
        if process is not None and process.alive:
            return ProcessState(True, process.pid, self.restarts.count, self.restarts.last_error)
        why = process.why if process is not None else self.restarts.last_error
        return ProcessState(False, 0, self.restarts.count, why)

    def check_open(self) -> None:
        """Return if it is not closed; raises EngineError."""
        if self._closed:
            raise EngineError('the engine is closed.')

    def live(self) -> EngineProcess:
        """
        Return the process, started again if it has ended.

        :raises EngineError: if it cannot be started, or ended so often that it has to wait
        """
        with self._lock:
            self.check_open()
            if self._process is not None and self._process.alive:
                return self._process
            if self._process is not None:
                self.restarts.ended(self._process.why, self._process.end_time)
                self._process = None
            self.restarts.check()
            self._process = self._start()
            return self._process

    def _start(self) -> EngineProcess:
        """Start a process and tell it what the last one knew."""
        again = self.info is not None
        process = EngineProcess(self._tell_end)
        if again:
            self.restarts.started()
            logger.warning('the engine process is started again (%d)', self.restarts.count)
        level = logging.getLogger('edge_llm_ros').getEffectiveLevel()
        process.starting.append(process.call(messages.Load(self._config, level, again)))
        if self._prefix is not None:
            process.starting.append(process.call(messages.WarmUp(self._prefix)))
        for session in self._pinned:
            process.post(messages.Pin(session, True))
        return process

    def on_end(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """
        Have a callback told why a process ended that nobody has closed; not from this thread.

        :returns: a function that withdraws the callback
        """
        self._on_end.append(callback)
        return lambda: self._on_end.remove(callback)

    def _tell_end(self, why: str) -> None:
        for callback in () if self._closed else tuple(self._on_end):
            try:
                callback(why)
            except Exception:
                # The others must be told all the same, and the process be buried.
                logger.exception('the end of the engine process could not be told')

    def ready(self, give_up: Callable[[], bool]) -> EngineProcess | None:
        """
        Return the process once its model is loaded and its prefix is there; one caller at a time.

        :param give_up: asked while waiting
        :returns: None if it was given up; the process goes on loading
        :raises EngineError: if it cannot be loaded
        """
        process = self.live()
        while process.starting:
            call = process.starting[0]
            try:
                answer = call.next(_LOOK_SECONDS)
                if isinstance(answer, messages.Loaded):
                    self._take_info(answer.info)
            except EngineError as error:
                process.kill(str(error))
                raise
            if isinstance(answer, messages.Loading):
                self._progress(answer.share)
            elif isinstance(answer, (messages.Loaded, messages.Done)):
                process.starting.popleft()
            elif answer is None:
                self.check_alive(process, call, LOADING_SECONDS)
            if give_up():
                return None
        return process

    def _take_info(self, info: ModelInfo) -> None:
        """Keep what the model says of itself; refuse another model than before."""
        known, self.info = self.info, self.info or info
        if known is not None and (
                known.size_bytes, known.vocabulary, known.special_tokens, known.chat_template) != (
                info.size_bytes, info.vocabulary, info.special_tokens, info.chat_template):
            raise EngineError('model_path: the file is another one than at configure. Clean up '
                              'and configure again.')

    def check_alive(self, process: EngineProcess, call: Call, seconds: float) -> None:
        """
        Kill a process that gave no sign of life for too long.

        One that waits for the disk or for a core is slow and does not hang: memory that ran short
        has its model read again, and other work may hold the cores. It gets more time.

        :raises EngineError: if it was killed
        """
        heard = call.heard
        silent = time.monotonic() - heard
        if silent < seconds:
            return
        faults, waited = process.hindrances()
        time.sleep(_PROBE_SECONDS)
        faults_now, waited_now = process.hindrances()
        hindered = faults_now > faults or waited_now - waited > _PROBE_SECONDS * _HINDERED
        if call.heard > heard or hindered and silent < seconds * _MORE_TIME:
            return
        process.kill(f'the engine process gave no sign of life for {silent:.1f} s and was killed.')
        raise EngineError(process.why)

    def ask(self, message: Any, kind: type, seconds: float) -> Any:
        """
        Ask what is answered once; any thread may.

        :param kind: of the answer
        :param seconds: for an answer, of a process that has loaded its model
        :raises EngineError: if there is none
        """
        process = self.live()
        call = process.call(message)
        while (answer := call.next(seconds)) is None:
            limit = max(seconds, _STARTING_SECONDS) if process.starting else seconds
            self.check_alive(process, call, limit)
        if not isinstance(answer, kind):
            process.kill(f'the engine process answered {type(answer).__name__} to '
                         f'{type(message).__name__}.')
            raise EngineError(process.why)
        return answer

    def use_prefix(self, tokens: tuple[int, ...]) -> None:
        """Let every process that is started evaluate a prefix first."""
        with self._lock:
            self._prefix = tokens

    def pin(self, session: str, pinned: bool) -> None:
        """Pin a session, in this process and in later ones, or end that."""
        with self._lock:
            (self._pinned.add if pinned else self._pinned.discard)(session)
            if self._process is not None:
                self._process.post(messages.Pin(session, pinned))

    def release(self, session: str) -> None:
        """Forget a session."""
        with self._lock:
            self._pinned.discard(session)
            if self._process is not None:
                self._process.post(messages.Release(session))

    def close(self) -> None:
        """End the process for good; a second call does nothing."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            process.close()
