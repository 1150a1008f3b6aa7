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
"""Runs goals, and tells everybody who wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.event import Event, Finished
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.goal_observer import GoalObserver
from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.platform.energy import EnergyMeter


class GoalRunner:
    """
    Runs goals, one at a time.

    :param node: the planner node
    :param agent: plans
    :param observer: is told what happens
    :param before_goal: lets live parameters count
    :param peak_memory_bytes: asked at the end of each goal
    """

    def __init__(self, node: Any, agent: Agent, observer: GoalObserver,
                 before_goal: Callable[[], None], peak_memory_bytes: Callable[[], int]) -> None:
        self._node = node
        self._agent = agent
        self._observer = observer
        self._before_goal = before_goal
        self._peak_memory_bytes = peak_memory_bytes
        self._energy = EnergyMeter()

    def run(self, goal_id: bytes, goal: Goal, cancellation: Cancellation,
            tell: Callable[[Event], None]) -> Result:
        """
        Run a goal to its end, whatever happens.

        :param cancellation: ends it when it is set
        :param tell: takes its events, for the client
        """
        logger = self._node.get_logger()
        cancellation.limit(goal.time_budget)
        logger.info(f'goal: {goal.instruction!r}')
        joule = self._energy.joule()
        result = Result(Outcome.ENGINE_ERROR, 'the agent ended without a result', (), Metrics())
        try:
            self._before_goal()
            self._observer.started(goal_id, goal)
            for event in self._agent.run(goal, cancellation):
                if isinstance(event, Finished):
                    result = event.result
                else:
                    self._observer.happened(goal_id, event)
                    tell(event)
        except Exception as error:
            # Ours: the goal must end all the same, and the node stay.
            self._node.log_exception('the goal failed')
            result = replace(result, message=f'{type(error).__name__}: {error}')
        logger.info(f'{result.outcome.name}: {result.message}')
        return replace(result, metrics=replace(
            result.metrics, peak_memory_bytes=self._peak_memory_bytes(),
            energy_joule=self._energy.joule() - joule))
