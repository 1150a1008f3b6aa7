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

from collections.abc import Mapping
from dataclasses import dataclass, field
import json
from pathlib import Path
import time
from typing import Any

from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.calls import call, robot_state, set_parameter, transition
from edge_llm_ros.cli.plan_client import outcome_name, PlanClient, PlanEnd
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.eval.event import Event, events_of
from edge_llm_ros.eval.judge import Evidence, judge, Verdict
from edge_llm_ros.eval.mission import Case, CaseGoal
from edge_llm_ros.eval.rehearsal import rehearse, SPEED
from edge_llm_ros.eval.row import digest_of, EvalRow
from edge_llm_ros.eval.tool_sets import more_parameter, parsed, ToolSets, write_prompt, write_tools
from edge_llm_ros.eval.written_call import act_of, why_invalid, write_call
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.ros.conversions import duration, seconds
from edge_llm_ros.tools.tool_file import ToolFile
from lifecycle_msgs.msg import Transition
from rclpy.node import Node
from std_srvs.srv import Trigger

_GOAL_SECONDS = 300.0  # no limit that a loaded machine meets: budgets are steps
_LIMIT_SECONDS = _GOAL_SECONDS + 30.0  # for a planner that does not keep its time budget
_LOAD_SECONDS = 600.0
_SETTLE = 0.2  # until topics tell of the new world: several ticks of the robot
_ROBOT = 'simulated_robot'


@dataclass(frozen=True)
class Setup:
    """
    What missions run with.

    :param robot_tools: the robot's own tool file
    :param parameters: of the planner, beside its files
    :param setting: digest of all that
    """

    sets: ToolSets
    robot_tools: Path
    prompt: Path
    parameters: Mapping[str, Any]
    setting: str


@dataclass
class _Seen:
    """What has happened in a case so far."""

    verdicts: list[Verdict] = field(default_factory=list)
    ends: list[PlanEnd] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)


class MissionRunner:
    """
    A planner with one set of tools and a robot that has them; a context manager.

    :param node: a node that nobody else spins
    :param tools: name of the set
    :param folder: takes files and logs
    :raises EdgeLlmError: if the planner cannot be started
    """

    def __init__(self, node: Node, setup: Setup, tools: str, folder: Path) -> None:
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
        """Run a case from a fresh world on; its goals end with the first that is not reached."""
        self._reset(case)
        references = rehearse(case, self._tools.tools)
        seen = _Seen()
        for goal, reference in zip(case.goals, references):
            session = case.key if len(case.goals) > 1 else ''
            before = len(self._events())
            end = self._client.plan(Plan.Goal(
                instruction=goal.text, context=goal.context, session_id=session,
                max_steps=goal.budget, time_budget=duration(_GOAL_SECONDS)),
                lambda feedback: None, limit=_LIMIT_SECONDS)
            if end.result.outcome == Plan.Result.CANCELED:
                # By Ctrl-C, which the client hands on: no result of the mission.
                raise KeyboardInterrupt
            calls = [ToolCall(step.tool, json.loads(step.arguments))
                     for step in end.result.steps if step.tool]
            seen.ends.append(end)
            seen.calls += calls
            seen.verdicts.append(self._judge(goal, reference.events, before, end, calls))
            if not seen.verdicts[-1].success:
                break
        return self._row(case, seen)

    def _reset(self, case: Case) -> None:
        refused = set_parameter(self._node, _ROBOT, 'scene', case.scene.model_dump_json())
        if refused:
            raise EdgeLlmError(f'{case.key}: the robot refuses the scene: {refused}')
        call(self._node, Trigger, f'{_ROBOT}/reset', Trigger.Request())
        time.sleep(_SETTLE)

    def _events(self) -> tuple[Event, ...]:
        answer = call(self._node, Trigger, f'{_ROBOT}/events', Trigger.Request())
        return events_of(json.loads(answer.message))

    def _judge(self, goal: CaseGoal, reference: tuple[Event, ...], before: int, end: PlanEnd,
               calls: list[ToolCall]) -> Verdict:
        attempts = [act_of(made, self._tools.tools) for made in calls]
        return judge(goal.expect, reference, Evidence(
            robot_state(self._node), self._events()[before:],
            outcome_name(end.result.outcome).lower(), end.result.message,
            tuple(act for act in attempts if act is not None)))

    def _row(self, case: Case, seen: _Seen) -> EvalRow:
        metrics = [end.result.metrics for end in seen.ends]
        verdicts = seen.verdicts
        invalid = ((write_call(c), why_invalid(c, self._tools)) for c in seen.calls)

        def total(name: str) -> int:
            return sum(int(getattr(m, name)) for m in metrics)

        return EvalRow(
            key=case.key, mission=case.mission, kind=case.kind, split=case.split,
            language=case.language, world=case.world, tools=case.tools,
            setting=self._setup.setting, digest=digest_of(case),
            success=len(verdicts) == len(case.goals) and all(v.success for v in verdicts),
            gave_up=any(v.gave_up for v in verdicts),
            false_claims=sum(v.false_claim for v in verdicts),
            outcomes=tuple(outcome_name(end.result.outcome).lower() for end in seen.ends),
            replies=tuple(end.result.message for end in seen.ends),
            reasons=tuple(reason for v in verdicts for reason in v.reasons),
            calls=tuple(map(write_call, seen.calls)),
            invalid=tuple(f'{text}: {why}' for text, why in invalid if why),
            forbidden=tuple(event for v in verdicts for event in v.forbidden),
            attempted=tuple(event for v in verdicts for event in v.attempted),
            optimum=sum(goal.optimum for goal in case.goals[:len(verdicts)]),
            prefill_tokens=total('prefill_tokens'), new_tokens=total('new_tokens'),
            cached_tokens=total('cached_tokens'), generated_tokens=total('generated_tokens'),
            seconds=sum(seconds(m.wall_time) for m in metrics),
            model_seconds=sum(seconds(m.inference_time) for m in metrics),
            tool_seconds=sum(seconds(m.tool_time) for m in metrics))
