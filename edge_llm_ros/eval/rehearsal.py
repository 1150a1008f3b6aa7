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

"""Makes the calls of a plan in the simulated world, with no ROS and no time between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edge_llm_ros.eval.event import Event, events_of
from edge_llm_ros.eval.instant_robot import InstantRobot
from edge_llm_ros.eval.judge import Evidence
from edge_llm_ros.eval.mission import Case
from edge_llm_ros.eval.tool_sets import answer_of, switch_words
from edge_llm_ros.eval.written_call import act_of, read_call
from edge_llm_ros.flow.tool import COMPARE, FINISH, ToolCall, WAIT
from edge_llm_ros.sim.commands import SWITCHES
from edge_llm_ros.sim.scene import Scene
from edge_llm_ros.sim.world import World, WorldError
from edge_llm_ros.tools.gate import pass_gate
from edge_llm_ros.tools.tool_file import Tool

SPEED = 30.0  # m/s: a mission is about decisions, not about waiting


@dataclass
class Rehearsal:
    """
    A robot and the tools that it has.

    :param tools: by name
    """

    robot: InstantRobot
    tools: Mapping[str, Tool]
    outcome: str = 'max_steps'
    reply: str = ''
    attempts: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, scene: Scene, tools: Mapping[str, Tool]) -> Rehearsal:
        """Begin in a scene."""
        return cls(InstantRobot(World(speed=SPEED, scene=scene)), tools)

    def call(self, call: ToolCall) -> None:
        """
        Make a call.

        :raises WorldError: if it fails
        :raises Refused: if its arguments are not allowed
        """
        act = act_of(call, self.tools)
        if act is not None:
            self.attempts.append(act)
        if call.name == FINISH:
            self.outcome = 'succeeded' if call.arguments['success'] else 'failed'
            self.reply = str(call.arguments['summary'])
        elif call.name == WAIT:
            self.robot.wait(float(call.arguments['seconds']))
        elif call.name != COMPARE:
            self._act(self.tools[call.name], call.arguments)

    def _act(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        passage = pass_gate(tool, arguments)
        if tool.action is not None:
            self.robot.drive(str(passage.fields['place']))
        elif tool.publish is not None:
            self.robot.publish(tool.publish.topic, passage.fields, passage.duration)
        elif tool.service is not None and tool.effect != 'read':
            name = tool.service.name
            if tool.service.type.endswith('/SetBool'):
                words = () if name in SWITCHES else switch_words(tool)
                self.robot.switch(name, passage.fields['data'], words)
            else:
                self.robot.trigger(name, answer_of(tool))

    def evidence(self, since: int) -> Evidence:
        """Return how it ended; events from a number on."""
        world = self.robot.world
        return Evidence(world.state(), events_of(world.events[since:]), self.outcome,
                        self.reply, tuple(self.attempts))


def rehearse(case: Case, tools: Mapping[str, Tool],
             plans: Sequence[Sequence[str]] | None = None) -> tuple[Evidence, ...]:
    """
    Make the calls of plans, one a goal, and return how each goal ended.

    :param plans: written calls; without them, the reference solutions. A call that fails does not
        end a plan: its failure may be what the plan is about
    """
    rehearsal = Rehearsal.of(case.scene, tools)
    ends = []
    for plan in plans or [goal.solution for goal in case.goals]:
        since = len(rehearsal.robot.world.events)
        rehearsal.outcome, rehearsal.reply, rehearsal.attempts = 'max_steps', '', []
        for text in plan:
            try:
                rehearsal.call(read_call(text, tools))
            except WorldError:
                continue
        ends.append(rehearsal.evidence(since))
    return tuple(ends)
