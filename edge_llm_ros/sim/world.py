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

"""The simulated world: places and one robot; no ROS in it, the same for the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
import random
from typing import Any

from edge_llm_ros.sim.scene import Scene

PLACES: Mapping[str, tuple[float, float]] = {
    'dock': (0.0, 0.0),
    'kitchen': (4.0, 2.0),
    'office': (6.0, -2.0),
    'lab': (2.0, -4.0),
    'hallway': (3.0, 0.0),
    'storage': (-2.0, 3.0),
    'entrance': (7.0, 1.0),
    'meeting_room': (5.0, 4.0),
}
BEHIND_DOOR = 'storage'

_ARRIVED = 0.02  # metres
_AT_PLACE = 0.5  # metres
_DRAIN_PER_METRE = 0.2  # percent


class WorldError(Exception):
    """Raised when the robot cannot do what it was told; the message is what it answers."""


class HardwareFault(WorldError):
    """Raised when something of the robot does not work."""


@dataclass
class World:
    """
    The state of the robot and of what is around it.

    :param seed: of temperatures and of where objects are
    :param speed: of the robot, metres a second
    :param watchdog: seconds without a velocity command after which the robot stops; 0 for never
    :param scene: how this world differs from what the seed makes
    :param events: what was asked of the robot and what came of it, in order
    """

    seed: int = 0
    speed: float = 2.0
    watchdog: float = 0.5
    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    battery: float = 80.0
    gripper_closed: bool = False
    holding: str = ''
    lights: bool = False
    door_open: bool = True
    target: tuple[float, float] | None = None
    distance: float = 0.0
    moving: bool = False
    velocity: float = 0.0  # metres a second, as it was in the last tick
    said: list[dict[str, str]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    objects: dict[str, str] = field(default_factory=dict)
    temperatures: dict[str, float] = field(default_factory=dict)
    scene: Scene = Scene()
    places: dict[str, tuple[float, float]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    _failed: dict[str, int] = field(default_factory=dict)
    _velocity: tuple[float, float] = (0.0, 0.0)
    _velocity_age: float = 0.0

    def __post_init__(self) -> None:
        scene = self.scene
        generator = random.Random(self.seed if scene.seed is None else scene.seed)
        self.temperatures = {name: round(generator.uniform(18.0, 26.0), 1) for name in PLACES}
        rooms = [name for name in PLACES if name not in ('dock', 'hallway')]
        self.objects = {name: generator.choice(rooms) for name in ('cup', 'parcel')}
        self.places = {**PLACES, **scene.places}
        self.temperatures.update(
            (name, round(generator.uniform(18.0, 26.0), 1)) for name in scene.places)
        self.temperatures.update(scene.temperatures)
        self._begin(scene)
        self.path = [self.place]

    def _begin(self, scene: Scene) -> None:
        """Put the robot and what is around it where the scene says."""
        self.x, self.y = (self.x, self.y) if scene.start == 'dock' else self.places[scene.start]
        self.battery = self.battery if scene.battery is None else scene.battery
        self.door_open = self.door_open if scene.door is None else scene.door == 'open'
        self.lights = self.lights or scene.lights == 'on'
        self.objects = self.objects if scene.objects is None else dict(scene.objects)
        self.holding = self.holding or scene.holding
        if self.holding:
            self.objects[self.holding] = self.place
        self.gripper_closed = (
            self.gripper_closed or scene.gripper == 'closed' or bool(self.holding))

    def record(self, call: str, detail: str = '', done: bool = True) -> None:
        """Keep what was asked of the robot here, and whether it was done."""
        self.events.append({'call': call, 'detail': detail, 'place': self.place, 'done': done})

    def fail_if_due(self, call: str) -> None:
        """Raise HardwareFault as often as the scene says."""
        failure = self.scene.failures.get(call)
        count = self._failed.get(call, 0)
        if failure is not None and (failure.times < 0 or count < failure.times):
            self._failed[call] = count + 1
            raise HardwareFault(failure.message)

    @property
    def place(self) -> str:
        """Return the name of the place where the robot is, or an empty text between places."""
        for name, (x, y) in self.places.items():
            if math.hypot(self.x - x, self.y - y) <= _AT_PLACE:
                return name
        return ''

    @property
    def remaining(self) -> float:
        """Return the metres to the target; 0 without one."""
        if self.target is None:
            return 0.0
        return math.hypot(self.target[0] - self.x, self.target[1] - self.y)

    def drive_to(self, x: float, y: float) -> None:
        """Set out for a position; raises WorldError if the way is closed or the battery empty."""
        inside = math.hypot(x - PLACES[BEHIND_DOOR][0], y - PLACES[BEHIND_DOOR][1]) <= _AT_PLACE
        if inside != (self.place == BEHIND_DOOR) and not self.door_open:
            raise WorldError(f'the door of the {BEHIND_DOOR} is closed')
        if self.battery <= 0:
            raise WorldError('the battery is empty')
        self._velocity = (0.0, 0.0)
        self.target = (x, y)

    def stop(self) -> None:
        """Stand still."""
        self.target = None
        self._velocity = (0.0, 0.0)
        self.moving = False

    def set_velocity(self, forward: float, turn: float) -> None:
        """Drive at a velocity [m/s, rad/s] until the next command or the watchdog."""
        self.target = None
        if (forward or turn) and self._velocity == (0.0, 0.0):
            self.record('creep', 'forwards' if forward > 0 else 'backwards')
        self._velocity, self._velocity_age = (forward, turn), 0.0

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        x, y = self.x, self.y
        if self.target is not None:
            self._tick_target(seconds)
        else:
            self._tick_velocity(seconds)
        moved = math.hypot(self.x - x, self.y - y)
        self.velocity = moved / seconds
        self.moving = moved > 0 or self._velocity != (0.0, 0.0)
        self.distance += moved
        self.battery = max(0.0, self.battery - moved * _DRAIN_PER_METRE)
        if self.place == 'dock' and not self.moving:
            self.battery = min(100.0, self.battery + seconds * self.scene.charging)
        if self.place and self.place != self.path[-1]:
            self.path.append(self.place)
        if self.holding:
            self.objects[self.holding] = self.place

    def _tick_target(self, seconds: float) -> None:
        assert self.target is not None
        if self.battery <= 0:
            self.stop()
            return
        left, step = self.remaining, self.speed * seconds
        self.yaw = math.atan2(self.target[1] - self.y, self.target[0] -
                              self.x) if left > _ARRIVED else self.yaw
        if left <= step:
            self.x, self.y = self.target
            self.target = None
        else:
            self.x += (self.target[0] - self.x) / left * step
            self.y += (self.target[1] - self.y) / left * step

    def _tick_velocity(self, seconds: float) -> None:
        self._velocity_age += seconds
        if self.watchdog and self._velocity_age > self.watchdog or self.battery <= 0:
            self._velocity = (0.0, 0.0)
        forward, turn = self._velocity
        self.yaw = math.remainder(self.yaw + turn * seconds, 2 * math.pi)
        self.x += forward * math.cos(self.yaw) * seconds
        self.y += forward * math.sin(self.yaw) * seconds

    def set_gripper(self, closed: bool) -> str:
        """Open or close the gripper; opening lets go of what it holds."""
        if not closed and self.holding:
            self.put_down()
        self.gripper_closed = closed
        return 'closed' if closed else 'open'

    def pick_up(self) -> str:
        """Grasp the object at this place and return its name."""
        if self.holding:
            raise WorldError(f'the gripper already holds the {self.holding}')
        here = sorted(
            name for name, place in self.objects.items() if place and place == self.place)
        if not here:
            raise WorldError('there is no object here')
        self.holding, self.gripper_closed = here[0], True
        return here[0]

    def put_down(self) -> str:
        """Let go of the object at this place and return its name."""
        if not self.holding:
            raise WorldError('the gripper holds nothing')
        name, self.holding, self.gripper_closed = self.holding, '', False
        return name

    def say(self, text: str) -> None:
        """Say something where the robot is."""
        self.said.append({'place': self.place, 'text': text})
        self.record('say', text)

    def state(self) -> dict[str, Any]:
        """Return everything a judge may ask for."""
        return {
            'place': self.place,
            'x': round(self.x, 3),
            'y': round(self.y, 3),
            'yaw': round(self.yaw, 3),
            'moving': self.moving,
            'battery_percent': round(self.battery, 1),
            'gripper': 'closed' if self.gripper_closed else 'open',
            'holding': self.holding,
            'lights': self.lights,
            'door': 'open' if self.door_open else 'closed',
            'said': list(self.said),
            'objects': dict(self.objects),
            'path': list(self.path),
            'distance': round(self.distance, 2),
        }
