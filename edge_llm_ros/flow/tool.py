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

"""What the model knows of a tool, what it calls, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import enum
from types import MappingProxyType
from typing import Any, Protocol

from edge_llm_ros.flow.cancellation import Cancellation

FINISH = 'finish'
WAIT = 'wait'
COMPARE = 'compare'
ASK_PERSON = 'ask_person'
LOOK_AROUND = 'look_around'
REMEMBER = 'remember'
RECALL = 'recall'
ALWAYS_ALLOWED = frozenset({FINISH, WAIT, COMPARE, ASK_PERSON, LOOK_AROUND})
BUILTINS = ALWAYS_ALLOWED | {REMEMBER, RECALL}

Choices = Mapping[str, Mapping[str, tuple[str | int, ...]]]
"""Values of arguments that are read at a goal's start: by tool, then by argument."""
NO_CHOICES: Choices = MappingProxyType({})


@dataclass(frozen=True)
class ToolSchema:
    """
    A tool as the model sees it.

    :param parameters: the JSON schema of the arguments object, properties in the order of the
        prompt
    :param chosen: arguments whose values come with each goal; without them it cannot be called
    :param silent: whether its calls never tell anything before they end
    :param group: of tools that serve one end; empty for a tool that every goal may need
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    chosen: tuple[str, ...] = ()
    silent: bool = False
    group: str = ''


@dataclass(frozen=True)
class ToolCall:
    """A call that the model made; arguments as parsed from its JSON."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def in_words(self) -> str:
        """Return name and values, as a person would note them."""
        return ' '.join([self.name, *map(str, self.arguments.values())])


class Status(enum.IntEnum):
    """How a step stands; values equal the STATUS constants of PlanStep."""

    UNKNOWN = 0
    GENERATING = 1
    RUNNING = 2
    SUCCEEDED = 3
    FAILED = 4
    REFUSED = 5
    CANCELED = 6
    DRY_RUN = 7


@dataclass(frozen=True)
class Observation:
    """
    What came of a call, as data for the model.

    :param text: canonical JSON
    :param error: the reason in a sentence; empty unless the call failed, was refused or canceled
    """

    status: Status
    text: str
    error: str = ''

    @property
    def worked(self) -> bool:
        """Say whether the call did what it was for, or would have in a dry run."""
        return self.status in (Status.SUCCEEDED, Status.DRY_RUN)

    @property
    def went_wrong(self) -> bool:
        """Say whether the call failed or was refused, and nobody wanted it to end."""
        return self.status in (Status.FAILED, Status.REFUSED)


@dataclass(frozen=True)
class GoalFacts:
    """
    What was read at a goal's start.

    :param text: for the goal's message; empty where there is nothing to tell
    :param choices: the values that arguments can have in this goal
    :param impossible: tools that cannot be called in this goal, each with the reason
    """

    text: str = ''
    choices: Choices = field(default_factory=lambda: NO_CHOICES)
    impossible: Mapping[str, str] = field(default_factory=dict)


NO_FACTS = GoalFacts()


@dataclass(frozen=True)
class FallbackCall:
    """
    What is done when a goal ends because the planner could not go on.

    :param message: a sentence that is added to the result's
    """

    call: ToolCall
    message: str


class Toolset(Protocol):
    """What the agent can call."""

    @property
    def fallback(self) -> FallbackCall | None:
        """Return what is done when the planner cannot go on; None for nothing."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools in the order of the prompt."""

    def facts(self, allowed: frozenset[str] | None, cancellation: Cancellation) -> GoalFacts:
        """Read what a goal is told at its start; waits a bounded time, not past a cancel."""

    def call(self, call: ToolCall, cancellation: Cancellation, *, allowed: frozenset[str] | None,
             dry_run: bool, on_progress: Callable[[str], None],
             facts: GoalFacts = NO_FACTS) -> Observation:
        """
        Make a call and wait for what comes of it.

        Everything that the model or a peer can cause comes back as an observation. The wait ends
        soon after ``cancellation`` is set, with what was started being stopped.

        :param allowed: names of the tools that this goal may call; None for all
        :param on_progress: takes a line of feedback, from any thread
        :param facts: what was read at the start of this goal
        """
