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

"""Runs missions: the real planner, the simulated robot, and ROS between them."""

from __future__ import annotations

import json
from pathlib import Path
import time
from typing import Any

from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.calls import call, robot_state, set_parameter, transition
from edge_llm_ros.cli.plan_client import outcome_name, PlanClient
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.eval.case_run import GoalEnd, run_case, session_of
from edge_llm_ros.eval.eval_setup import EvalSetup, GOAL_SECONDS
from edge_llm_ros.eval.event import Event, events_of
from edge_llm_ros.eval.mission import Case, CaseGoal
from edge_llm_ros.eval.rehearsal import SPEED
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.eval.tool_sets import more_parameter, parsed, write_prompt, write_tools
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.flow.metrics import Metrics, TokenCounts
from edge_llm_ros.flow.step import Step
from edge_llm_ros.ros.conversions import duration, seconds
from edge_llm_ros.tools.tool_file import ToolFile
from lifecycle_msgs.msg import Transition
from rclpy.node import Node
from std_srvs.srv import Trigger

_LIMIT_SECONDS = GOAL_SECONDS + 30.0  # for a planner that does not keep its time budget
_LOAD_SECONDS = 600.0
_SETTLE = 0.2  # until topics tell of the new world: several ticks of the robot
_ROBOT = 'simulated_robot'


class MissionRunner:
    """
    A planner with one set of tools and a robot that has them; a context manager.

    :param node: a node that nobody else spins
    :param tools: name of the set
    :param folder: takes files and logs
    :raises EdgeLlmError: if the planner cannot be started
    """

    def __init__(self, node: Node, setup: EvalSetup, tools: str, folder: Path) -> None:
        self._node = node
        self._setup = setup
        folder.mkdir(parents=True, exist_ok=True)
        content = setup.sets.tool_file(tools, setup.robot_tools)
        self._tools: ToolFile = parsed(content)
        write_tools(content, folder / 'tools.yaml')
        write_prompt(setup.prompt, self._tools, folder / 'prompt.yaml')
        own = parsed(setup.sets.tool_file('base', setup.robot_tools)).tools
        self._robot = NodeProcess(
            'edge_llm_ros.sim.robot_node', _ROBOT,
            {'speed': SPEED, 'more': more_parameter(self._tools.tools, own)}, folder)
        self._planner = NodeProcess('edge_llm_ros.ros.planner_node', 'planner', {
            **setup.parameters, 'tool_files': [str(folder / 'tools.yaml')],
            'prompt_file': str(folder / 'prompt.yaml')}, folder)
        self._client = PlanClient(node)
        try:
            for number in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                if not transition(node, 'planner', number, _LOAD_SECONDS):
                    raise EdgeLlmError(
                        f'the planner cannot be started:\n{self._planner.log_text()}')
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the processes."""
        self._client.destroy()
        self._planner.stop()
        self._robot.stop()

    def __enter__(self) -> MissionRunner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, case: Case) -> EvalRow:
        """Run a case."""
        return run_case(case, self, self._tools, self._setup.setting)

    def reset(self, case: Case) -> None:
        """Begin a case in a fresh world."""
        refused = set_parameter(self._node, _ROBOT, 'scene', case.scene.model_dump_json())
        if refused:
            raise EdgeLlmError(f'{case.key}: the robot refuses the scene: {refused}')
        call(self._node, Trigger, f'{_ROBOT}/reset', Trigger.Request())
        time.sleep(_SETTLE)

    def plan(self, case: Case, goal: CaseGoal) -> GoalEnd:
        """Let the planner reach a goal."""
        before = len(self._events())
        end = self._client.plan(Plan.Goal(
            instruction=goal.text, context=goal.context, session_id=session_of(case),
            max_steps=goal.budget, time_budget=duration(GOAL_SECONDS)),
            lambda feedback: None, limit=_LIMIT_SECONDS)
        result = end.result
        if result.outcome == Plan.Result.CANCELED:
            # By Ctrl-C, which the client hands on: no result of the mission.
            raise KeyboardInterrupt
        steps = tuple(Step(s.index, s.tool, s.arguments, s.status, s.observation, s.error)
                      for s in result.steps)
        return GoalEnd(outcome_name(result.outcome).lower(), result.message, steps,
                       _metrics(result.metrics), robot_state(self._node), self._events()[before:])

    def _events(self) -> tuple[Event, ...]:
        answer = call(self._node, Trigger, f'{_ROBOT}/events', Trigger.Request())
        return events_of(json.loads(answer.message))


def _metrics(said: Any) -> Metrics:
    """Return the part of a result's metrics that rows keep."""
    tokens = TokenCounts(prefill=said.prefill_tokens, new=said.new_tokens,
                         cached=said.cached_tokens, sampled=said.sampled_tokens,
                         forced=said.forced_tokens, accepted_draft=said.accepted_draft_tokens)
    return Metrics(tokens=tokens, inference=seconds(said.inference_time),
                   tool=seconds(said.tool_time), wall=seconds(said.wall_time))
