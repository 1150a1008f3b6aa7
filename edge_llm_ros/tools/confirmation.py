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

"""A person allows a call, or does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
import uuid

from edge_llm_ros.flow.cancellation import Cancellation

_SLICE = 0.1  # seconds between two looks at the cancellation


@dataclass(frozen=True)
class ConfirmationRequest:
    """
    What a person is asked.

    :param call_id: to be given back with the answer; cannot be guessed
    :param target: verb, resolved name and type of what is called
    :param arguments: JSON, as the model wrote it
    :param seconds: until no answer means no
    """

    call_id: str
    tool: str
    target: str
    arguments: str
    seconds: float


class _Pending:
    """A request that waits for its answer."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.answered = threading.Event()
        self.allow = False


class Confirmations:
    """
    Asks a person and takes the answers; everything but a yes in time, to this call, means no.

    :param publish: sends a request to whoever may answer it
    """

    def __init__(self, publish: Callable[[ConfirmationRequest], None]) -> None:
        self._publish = publish
        self._lock = threading.Lock()
        self._pending: dict[str, _Pending] = {}

    def why_not(self, tool: str, target: str, arguments: str, seconds: float,
                cancellation: Cancellation) -> str:
        """
        Ask, and wait for the answer.

        :returns: why the call is not allowed; empty if a person allowed it
        """
        request = ConfirmationRequest(uuid.uuid4().hex, tool, target, arguments, seconds)
        pending = _Pending(time.monotonic() + seconds)
        with self._lock:
            self._pending[request.call_id] = pending
        try:
            self._publish(request)
            while not pending.answered.is_set():
                left = pending.deadline - time.monotonic()
                if left <= 0:
                    break
                if cancellation.canceled:
                    return 'canceled before a person allowed it'
                pending.answered.wait(min(left, _SLICE))
        finally:
            # Under the lock: from here on every answer is late.
            with self._lock:
                del self._pending[request.call_id]
        if not pending.answered.is_set():
            return f'a person must allow this call, and nobody answered within {seconds:g} s'
        return '' if pending.allow else 'a person did not allow this call'

    def answer(self, call_id: str, allow: bool) -> str:
        """
        Take an answer.

        :returns: why it does not count; empty if it does
        """
        with self._lock:
            pending = self._pending.get(call_id)
            if pending is None:
                return 'no call waits for an answer under this id; it may be wrong or too late'
            if pending.answered.is_set():
                return 'this call was answered already'
            if time.monotonic() >= pending.deadline:
                return 'too late'
            pending.allow = allow
            pending.answered.set()
        return ''
