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

"""A peer as the model that an agent talks to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
import time

from edge_llm_ros.eval.peers.chat import ChatPeer, Message, NO_CALL, read_calls, Wording
from edge_llm_ros.eval.peers.configuration import PeerConfiguration
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.forethought import Occasion
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallCanceled, CallMade, Prefilling, Writing
from edge_llm_ros.flow.tool import Choices, NO_CHOICES, Observation, ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import Example


class PeerModel:
    """
    Conversations with a peer; what is said is what the planner's own model is told.

    :param system: what the peer is told first
    :param tools: in the order of the prompt
    :param examples: static examples, as messages
    """

    def __init__(self, peer: ChatPeer, configuration: PeerConfiguration, system: str,
                 tools: Sequence[ToolSchema], examples: Sequence[Example]) -> None:
        self.peer = peer
        self.tools = tuple(tools)
        self.wording = Wording(configuration.calls)
        self.beginning = self.wording.beginning(system, tools, examples)
        self._sessions: dict[str, PeerConversation] = {}

    def on_failure(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Return what withdraws the callback: a peer is only seen to fail when it is asked."""
        return lambda: None

    def conversation(self, session_id: str) -> PeerConversation:
        """Return the conversation of a session; a new one for an unknown or empty id."""
        known = self._sessions.get(session_id) or PeerConversation(self)
        if session_id:
            self._sessions[session_id] = known
        return known


class PeerConversation:
    """One conversation, as messages."""

    def __init__(self, model: PeerModel) -> None:
        self._model = model
        self._messages: list[Message] = list(model.beginning)
        # Calls of the latest answer that are not made yet: the agent makes one at a time.
        self._waiting: deque[tuple[str, ToolCall]] = deque()
        self._made = ''
        self._note = ''

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return what was said."""
        return tuple(self._messages)

    def instruct(self, instruction: str, context: str) -> None:
        """Append what a person asks for, and live facts."""
        self._waiting.clear()
        parts = (self._note, context.strip(), instruction.strip())
        self._messages.append({'role': 'user', 'content': '\n\n'.join(filter(None, parts))})
        self._note = ''

    def observe(self, call: ToolCall, observation: Observation) -> None:
        """Append what came of a call."""
        self._messages.append(self._model.wording.result(self._made, call, observation.text))

    def next_call(self, allowed: frozenset[str] | None, cancellation: Cancellation,
                  choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.NEXT
                  ) -> Iterator[Prefilling | Writing | CallMade | CallCanceled]:
        """
        Let the peer answer, unless its latest answer had more calls than are made.

        :param allowed: the tools that it is given
        :param occasion: not used: a peer writes what it writes
        :raises ConfigError: if a goal narrows values, which peers are not told
        """
        if choices:
            raise ConfigError('a goal that reads the values of arguments cannot be given to a '
                              'peer.')
        self._drop_waiting(allowed)
        start, counts = time.monotonic(), TokenCounts()
        if not self._waiting:
            if cancellation.canceled:
                yield CallCanceled(counts, 0.0)
                return
            counts = self._ask([
                t for t in self._model.tools if allowed is None or t.name in allowed])
        self._made, call = self._waiting.popleft()
        seconds = time.monotonic() - start
        # No answer is streamed, so the first token is not seen before the last.
        yield CallMade(call, counts, first_token=seconds, seconds=seconds)

    def _drop_waiting(self, allowed: frozenset[str] | None) -> None:
        """Answer the calls that wait and may no longer be made."""
        waiting, self._waiting = self._waiting, deque()
        for name, call in waiting:
            if allowed is None or call.name in allowed or call.name == NO_CALL:
                self._waiting.append((name, call))
            else:
                self._messages.append(
                    self._model.wording.result(name, call, '{"error": "not made"}'))

    def _ask(self, tools: Sequence[ToolSchema]) -> TokenCounts:
        """Let the peer answer, and keep what it says."""
        reply = self._model.peer.answer(self._messages, tools)
        calls = read_calls(reply)
        names = [f'call_{len(self._messages)}_{number}' for number in range(len(calls))]
        self._messages.append(self._model.wording.calls(reply.calls, reply.text, names))
        self._waiting.extend(zip(names, calls))
        return TokenCounts(cached=reply.cached, prefill=reply.prefill, sampled=reply.generated)

    def end(self, note: str) -> None:
        """Say that the goal is over."""
        self._note = note
