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
"""What the last calls of the model cost, for diagnostics."""

from __future__ import annotations

from collections import deque
import threading

from edge_llm_ros.flow.event import Event, EventKind
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.metrics import Metrics, TokenCounts
from edge_llm_ros.flow.result import Outcome, Result

_STEPS = 50  # that the figures are of


class GoalStatistics:
    """Keeps the metrics of the last steps and how the last goal ended; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: deque[Metrics] = deque(maxlen=_STEPS)
        self._goals = 0
        self._waiting = 0
        self._running: tuple[bytes, str] | None = None
        self._last: Result | None = None

    def accepted(self, goal_id: bytes, goal: Goal) -> None:
        """Count a goal that waits."""
        with self._lock:
            self._waiting += 1

    def started(self, goal_id: bytes, goal: Goal) -> None:
        """Take note of the running goal."""
        with self._lock:
            self._waiting -= 1
            self._running = goal_id, goal.instruction

    def happened(self, goal_id: bytes, event: Event) -> None:
        """Keep the metrics of a step that is done."""
        if event.kind is EventKind.STEP_DONE:
            with self._lock:
                self._steps.append(event.step.metrics)

    def finished(self, goal_id: bytes, goal: Goal, result: Result) -> None:
        """Take note of a goal's end."""
        with self._lock:
            if self._running is not None and self._running[0] == goal_id:
                self._running = None
            else:
                self._waiting -= 1
            self._goals += 1
            self._last = result

    @property
    def goals(self) -> int:
        """Return how many goals ended."""
        with self._lock:
            return self._goals

    @property
    def waiting(self) -> int:
        """Return how many goals wait for their turn."""
        with self._lock:
            return self._waiting

    @property
    def running(self) -> tuple[bytes, str] | None:
        """Return id and instruction of the running goal."""
        with self._lock:
            return self._running

    @property
    def last(self) -> Result | None:
        """Return how the last goal ended."""
        with self._lock:
            return self._last

    @property
    def last_error(self) -> str:
        """Return what the last goal says if it ended by a fault of ours; else nothing."""
        last = self.last
        faults = (Outcome.ENGINE_ERROR, Outcome.CONTEXT_FULL)
        return last.message if last is not None and last.outcome in faults else ''

    def totals(self) -> tuple[TokenCounts, Metrics]:
        """Return the tokens of the last steps, and their metrics as those of one goal."""
        with self._lock:
            metrics = Metrics()
            for step in self._steps:
                metrics = metrics.plus_step(step)
            return metrics.tokens, metrics

    def first_tokens(self) -> list[float]:
        """Return the seconds to the first token of the last steps, in ascending order."""
        with self._lock:
            return sorted(step.first_token for step in self._steps)
