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

"""The planner and the simulated robot in one process: missions without ROS."""

from __future__ import annotations

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.construction import goal_settings
from edge_llm_ros.agent.parameters import parameter_values
from edge_llm_ros.eval.case_run import GoalEnd, run_case, session_of
from edge_llm_ros.eval.eval_setup import EvalSetup, GOAL_SECONDS
from edge_llm_ros.eval.event import events_of
from edge_llm_ros.eval.instant_robot import InstantRobot
from edge_llm_ros.eval.instant_tools import instant_toolset
from edge_llm_ros.eval.mission import Case, CaseGoal
from edge_llm_ros.eval.planner import OwnPlanner, PeerPlanner, Planner
from edge_llm_ros.eval.rehearsal import SPEED
from edge_llm_ros.eval.robot_tools import robot_tools
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.event import Finished
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.sim.world import World


class LocalRobot:
    """
    A planner and a world that its tools act on; a context manager.

    The agent and the gate are those of the planner's node; so are the model's prefix and the
    engine, unless a peer plans.

    :raises EdgeLlmError: if something of the setup cannot be used
    """

    def __init__(self, setup: EvalSetup) -> None:
        self._setup = setup
        self._parameters = parameter_values({'engine_process': False, **setup.parameters})
        self._set = ''  # of tools, that of the latest case
        self._planner: Planner = OwnPlanner(self._parameters) if setup.peer is None else (
            PeerPlanner(self._parameters, setup.peer))

    def close(self) -> None:
        """Free the model."""
        self._planner.close()

    def __enter__(self) -> LocalRobot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, case: Case) -> EvalRow:
        """Run a case, with its tools: others than those of the case before are another prefix."""
        if case.tools != self._set:
            self._set = ''
            self._tools = robot_tools(self._setup, case.tools)
            self._model = self._planner.take(self._tools)
            self._set = case.tools
        return run_case(case, self, self._tools.file, self._setup.setting)

    def reset(self, case: Case) -> None:
        """Begin in a fresh world, with a gate that has counted nothing."""
        self._robot = InstantRobot(World(speed=SPEED, scene=case.scene))
        self._toolset = instant_toolset(self._tools.loaded, self._robot)

    def plan(self, case: Case, goal: CaseGoal) -> GoalEnd:
        """Let the planner reach a goal."""
        world = self._robot.world
        before = len(world.events)
        cancellation = Cancellation()
        cancellation.limit(GOAL_SECONDS)
        asked = Goal(
            instruction=goal.text, context=goal.context, session_id=session_of(case),
            max_steps=goal.budget, time_budget=GOAL_SECONDS,
            **goal_settings(self._parameters))
        # To the very end: what comes after the last event ends the conversation.
        agent = Agent(self._model, self._toolset, self._tools.prompt.words)
        result = [event.result for event in agent.run(asked, cancellation)
                  if isinstance(event, Finished)][-1]
        return GoalEnd(result.outcome.name.lower(), result.message, result.steps, result.metrics,
                       world.state(), events_of(world.events[before:]))
