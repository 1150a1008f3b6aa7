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

"""The simulated robot with no ROS around it, and no time between what it is told and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import struct
from typing import Any

from edge_llm_ros.sim.commands import arrive, set_out, switch, trigger
from edge_llm_ros.sim.world import World, WorldError

_TICK = 0.05
_MAX_TICKS = 2000


class Single(float):
    """A number as a float32 field holds it."""

    def __new__(cls, value: float) -> Single:
        """Round to the nearest float32."""
        return super().__new__(cls, struct.unpack('<f', struct.pack('<f', value))[0])


class InstantRobot:
    """
    The robot of the missions: what its node does when a message comes, at once.

    Readings and results are the fields of the messages that its node sends.

    :param world: that the robot is in
    """

    def __init__(self, world: World) -> None:
        self.world = world

    def drive(self, place: str, x: float = 0.0, y: float = 0.0) -> str:
        """
        Drive to a place, or to a position where there is none; returns what the robot answers.

        :raises WorldError: if it does not arrive
        """
        if place and place not in self.world.places:
            raise WorldError(f'no place {place!r} on the map')
        x, y = self.world.places[place] if place else (x, y)
        set_out(self.world, place, x, y)
        for _ in range(_MAX_TICKS):
            self.world.tick(_TICK)
            if self.world.target is None:
                break
        if (self.world.x, self.world.y) != (x, y):
            raise WorldError('the drive was interrupted')
        self.world.tick(_TICK)  # in which it stands still
        return arrive(self.world, place)

    def switch(self, name: str, value: bool, words: Sequence[str]) -> str:
        """Switch something and return its state; raises WorldError if it does not work."""
        return switch(self.world, name, value, words)

    def trigger(self, name: str, answer: str) -> str:
        """Do something and return what came of it; raises WorldError if it does not work."""
        return trigger(self.world, name, answer)

    def publish(self, topic: str, fields: Mapping[str, Any], seconds: float) -> None:
        """Take a message; a velocity for as long as it is published, and then its stop."""
        if topic == 'say':
            self.world.say(fields['data'])
        elif topic == 'cmd_vel':
            for _ in range(round(seconds / _TICK)):
                self.world.set_velocity(fields.get('linear.x', 0.0), fields.get('angular.z', 0.0))
                self.world.tick(_TICK)
            self.world.stop()
        else:
            self.world.record(topic, fields['data'])

    def read(self, topic: str) -> Mapping[str, Any] | None:
        """Return the message of a topic; None if the robot has no such topic."""
        world = self.world
        messages: dict[str, dict[str, Any]] = {
            'location': {'data': world.place or 'between places'},
            'battery_state': {'percentage': Single(world.battery / 100.0), 'present': True},
            'temperature': {'temperature': world.temperatures.get(world.place, 20.0)},
            'door_open': {'data': world.door_open},
        }
        return messages.get(topic)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(max(1, round(seconds / _TICK))):
            self.world.tick(_TICK)
