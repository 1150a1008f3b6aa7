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
from edge_llm_ros.eval.judge import Evidence
from edge_llm_ros.eval.mission import Case
from edge_llm_ros.eval.tool_sets import answer_of, switch_words
from edge_llm_ros.eval.written_call import act_of, read_call
from edge_llm_ros.flow.tool import COMPARE, FINISH, ToolCall, WAIT
from edge_llm_ros.sim.commands import arrive, set_out, switch, trigger
from edge_llm_ros.sim.scene import Scene
from edge_llm_ros.sim.world import World, WorldError
from edge_llm_ros.tools.compare import compare
from edge_llm_ros.tools.gate import pass_gate
from edge_llm_ros.tools.tool_file import Tool

SPEED = 30.0  # m/s: a mission is about decisions, not about waiting
_TICK = 0.05
_MAX_TICKS = 2000


@dataclass
class Rehearsal:
    """
    A world and the tools that act on it.

    :param world: that the robot is in
    :param tools: by name
    """

    world: World
    tools: Mapping[str, Tool]
    outcome: str = 'max_steps'
    reply: str = ''
    attempts: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, scene: Scene, tools: Mapping[str, Tool]) -> Rehearsal:
        """Begin in a scene."""
        return cls(World(speed=SPEED, scene=scene), tools)

    def call(self, call: ToolCall) -> Any:
        """
        Make a call.

        :returns: what it tells
        :raises WorldError: if it fails
        :raises Refused: if its arguments are not allowed
        """
        act = act_of(call, self.tools)
        if act is not None:
            self.attempts.append(act)
        if call.name == FINISH:
            self.outcome = 'succeeded' if call.arguments['success'] else 'failed'
            self.reply = str(call.arguments['summary'])
            return self.reply
        if call.name == COMPARE:
            return compare(call.arguments)['result']
        if call.name == WAIT:
            return self._tick(float(call.arguments['seconds']))
        tool = self.tools[call.name]
        passage = pass_gate(tool, call.arguments)
        if tool.action is not None:
            return self._drive(str(passage.fields['place']))
        if tool.service is not None:
            name = tool.service.name
            if tool.effect == 'read':
                return answer_of(tool)
            if tool.service.type.endswith('/SetBool'):
                return switch(self.world, name, passage.fields['data'], switch_words(tool))
            return trigger(self.world, name, answer_of(tool))
        if tool.publish is not None:
            return self._publish(tool.publish.topic, passage.fields, passage.duration)
        assert tool.read is not None
        return self._read(tool.read.topic)

    def _tick(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / _TICK))):
            self.world.tick(_TICK)

    def _drive(self, place: str) -> str:
        set_out(self.world, place, *self.world.places[place])
        for _ in range(_MAX_TICKS):
            self.world.tick(_TICK)
            if self.world.target is None:
                return arrive(self.world, place)
        raise WorldError('never arrived')

    def _publish(self, topic: str, fields: Mapping[str, Any], seconds: float) -> None:
        if topic == 'say':
            self.world.say(fields['data'])
        elif topic == 'cmd_vel':
            for _ in range(round(seconds / _TICK)):
                self.world.set_velocity(fields['linear.x'], 0.0)
                self.world.tick(_TICK)
            self.world.stop()
        else:
            self.world.record(topic, fields['data'])

    def _read(self, topic: str) -> Any:
        world = self.world
        return {'location': world.place or 'between places', 'battery_state': round(world.battery),
                'temperature': world.temperatures.get(world.place, 20.0),
                'door_open': world.door_open}[topic]

    def evidence(self, since: int) -> Evidence:
        """Return how it ended; events from a number on."""
        return Evidence(self.world.state(), events_of(self.world.events[since:]), self.outcome,
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
        since = len(rehearsal.world.events)
        rehearsal.outcome, rehearsal.reply, rehearsal.attempts = 'max_steps', '', []
        for text in plan:
            try:
                rehearsal.call(read_call(text, tools))
            except WorldError:
                continue
        ends.append(rehearsal.evidence(since))
    return tuple(ends)
