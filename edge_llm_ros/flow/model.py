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

"""What the agent talks to: a model that makes the next call of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.forethought import Occasion
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.tool import Choices, NO_CHOICES, Observation, ToolCall


@dataclass(frozen=True)
class Prefilling:
    """Part of the prompt was evaluated, or all of it came from disk."""

    evaluated: int
    total: int
    restored: bool = False


@dataclass(frozen=True)
class Writing:
    """The model wrote more of its call; ``text`` is all of it so far."""

    text: str


@dataclass(frozen=True)
class CallMade:
    """
    The call is complete.

    :param first_token: seconds from the request to the first token chosen from logits
    :param seconds: from the request until the call was parsed
    :param decode: seconds of generation after first tokens
    :param lost: why more was evaluated than an ideal cache would; empty where it was not
    :param forethought: what the model wrote before it
    :param planned: whether it is part of a program: repeating it may be what that is for
    :param among: the tools that it chose for the goal; None for all
    """

    call: ToolCall
    counts: TokenCounts
    first_token: float
    seconds: float
    lost: str = ''
    decode: float = 0.0
    forethought: str = ''
    planned: bool = False
    among: frozenset[str] | None = None


@dataclass(frozen=True)
class CallCanceled:
    """The call was given up because the goal must end; the conversation is as before."""

    counts: TokenCounts
    seconds: float


class Conversation(Protocol):
    """A conversation with the model; it only grows."""

    def instruct(self, instruction: str, context: str) -> None:
        """Append what a person asks for, and live facts."""

    def observe(self, call: ToolCall, observation: Observation) -> None:
        """Append what came of a call."""

    def next_call(self, allowed: frozenset[str] | None, cancellation: Cancellation,
                  choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.NEXT
                  ) -> Iterator[Prefilling | Writing | CallMade | CallCanceled]:
        """
        Let the model make its next call.

        The last event is CallMade or CallCanceled.

        :param allowed: names of the tools that may be called; None for all
        :param choices: values of the arguments that are chosen anew for each goal; a tool with
            such an argument cannot be called where they are missing
        :param occasion: which decides what the model writes before the call
        :raises ContextFull: if the conversation no longer fits
        :raises EngineError: if the model cannot be evaluated
        """

    def end(self, note: str) -> None:
        """
        Say that the goal is over; a conversation without a session id is forgotten.

        :param note: what the model is told with the next goal, where it did not end this one
        """


class Model(Protocol):
    """A model that is ready to plan."""

    def conversation(self, session_id: str) -> Conversation:
        """Return the conversation of a session; a new one for an unknown or empty id."""

    def on_failure(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """
        Have a callback told why the model failed, also while nobody waits for it.

        :returns: a function that withdraws the callback
        """
