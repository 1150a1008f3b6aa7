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

"""The built-in tool that asks a person: out on a topic, the answer by a service."""

from __future__ import annotations

from collections.abc import Mapping
import threading
import time
from typing import Any
import uuid

from edge_llm_interfaces.msg import Question
from edge_llm_interfaces.srv import Answer
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.conversions import duration
from edge_llm_ros.ros.qos import LATCHED
from edge_llm_ros.ros.verbs import WAIT_SLICE
from edge_llm_ros.tools.builtins import ANSWER_LENGTH, QUESTION_LENGTH
from edge_llm_ros.tools.gate import Refused
from edge_llm_ros.tools.toolset import failed, succeeded


class AskPerson:
    """
    Asks on ``~/question`` and waits for ``~/answer``.

    The topic is latched, so that a screen that is opened late shows what is open; a question that
    is over is published again without time left.

    :param node: that owns publisher and service
    :param group: reentrant callback group of the service
    :param timeout: seconds that a question waits
    """

    def __init__(self, node: Any, group: Any, timeout: float) -> None:
        self._node = node
        self._timeout = timeout
        self._changed = threading.Condition()
        self._open = ''
        self._over: set[str] = set()
        self._answer: str | None = None
        self._publisher = node.create_publisher(
            Question, '~/question', LATCHED, callback_group=group)
        self._service = node.create_service(
            Answer, '~/answer', self._on_answer, callback_group=group)

    def call(self, arguments: Mapping[str, Any], cancellation: Cancellation, dry_run: bool
             ) -> Observation:
        """Ask and wait for the answer; a dry run asks nobody."""
        text = _question(arguments)
        if dry_run:
            return Observation(Status.DRY_RUN, '{"answer": "dry run: nobody was asked"}')
        if cancellation.canceled:
            return failed('canceled before anybody was asked', Status.CANCELED)
        message = Question(id=uuid.uuid4().hex, text=text, time_left=duration(self._timeout),
                           asked=self._node.get_clock().now().to_msg())
        with self._changed:
            self._open, self._answer = message.id, None
        self._publisher.publish(message)
        try:
            answer = self._wait(cancellation)
        finally:
            with self._changed:
                self._over = {message.id}
                self._open = ''
            message.time_left = duration(0.0)
            self._publisher.publish(message)
        if answer is not None:
            return succeeded({'answer': answer})
        if cancellation.canceled:
            return failed('canceled while waiting for an answer', Status.CANCELED)
        return failed(f'nobody answered within {self._timeout:g} s')

    def _wait(self, cancellation: Cancellation) -> str | None:
        """Return the answer; None if it does not come in time or the goal must end."""
        deadline = time.monotonic() + self._timeout
        with self._changed:
            while self._answer is None and not cancellation.canceled:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(min(left, WAIT_SLICE))
            # Closed under the same lock, so that no answer is accepted and then not told.
            self._open = ''
            return None if cancellation.canceled else self._answer

    def _on_answer(self, request: Any, response: Any) -> Any:
        # An exception here would end the executor.
        with self._changed:
            response.reason = self._why_not(request)
            response.accepted = not response.reason
            if response.accepted:
                self._answer = request.text.strip()
                self._open = ''
                self._over = {request.id}
                self._changed.notify_all()
        return response

    def _why_not(self, request: Any) -> str:
        """Say why an answer is not taken; empty if it is."""
        if request.id in self._over:
            return 'this question is over: it was answered, canceled, or its time is up'
        if not self._open or request.id != self._open:
            return f'there is no open question with the id {request.id[:64]!r}'
        if not request.text.strip():
            return 'the answer is empty'
        if len(request.text) > ANSWER_LENGTH:
            return (f'the answer has {len(request.text)} characters; {ANSWER_LENGTH} are allowed')
        return ''

    def destroy(self) -> None:
        """Give publisher and service back."""
        self._node.destroy_publisher(self._publisher)
        self._node.destroy_service(self._service)


def _question(arguments: Mapping[str, Any]) -> str:
    unknown = [name for name in arguments if name != 'question']
    if unknown:
        raise Refused(f'unknown argument {unknown[0]!r}; allowed: question')
    text = arguments.get('question')
    if not isinstance(text, str) or not text.strip() or len(text) > QUESTION_LENGTH:
        raise Refused(f'argument question must be a text of 1 … {QUESTION_LENGTH} characters')
    if '\0' in text or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise Refused('argument question holds a character that cannot be sent')
    return text
