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
"""Who is told what happens to goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from edge_llm_ros.flow.event import Event
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.result import Result


class GoalObserver(Protocol):
    """Is told everything, in order, from one thread at a time for each goal."""

    def accepted(self, goal_id: bytes, goal: Goal) -> None:
        """Take note of a goal that waits for its turn."""

    def started(self, goal_id: bytes, goal: Goal) -> None:
        """Take note that a goal runs."""

    def happened(self, goal_id: bytes, event: Event) -> None:
        """Take note of an event of the running goal."""

    def finished(self, goal_id: bytes, goal: Goal, result: Result) -> None:
        """Take note of a goal's end; the last thing that is told of it."""


class GoalObservers:
    """
    Tells several observers; what fails in one of them neither stops the others nor the goal.

    :param observers: in the order in which they are told
    :param on_error: takes a line, called while the exception is being handled
    """

    def __init__(self, observers: Sequence[GoalObserver], on_error: Callable[[str], None]) -> None:
        self._observers = observers
        self._on_error = on_error

    def _tell(self, tell: Callable[[GoalObserver], None]) -> None:
        for observer in self._observers:
            try:
                tell(observer)
            except Exception:
                self._on_error(f'{type(observer).__name__} could not take note of a goal')

    def accepted(self, goal_id: bytes, goal: Goal) -> None:
        """Take note of a goal that waits for its turn."""
        self._tell(lambda observer: observer.accepted(goal_id, goal))

    def started(self, goal_id: bytes, goal: Goal) -> None:
        """Take note that a goal runs."""
        self._tell(lambda observer: observer.started(goal_id, goal))

    def happened(self, goal_id: bytes, event: Event) -> None:
        """Take note of an event of the running goal."""
        self._tell(lambda observer: observer.happened(goal_id, event))

    def finished(self, goal_id: bytes, goal: Goal, result: Result) -> None:
        """Take note of a goal's end."""
        self._tell(lambda observer: observer.finished(goal_id, goal, result))
