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

"""What the simulated robot does when it is asked, with or without ROS around it."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.sim.world import World, WorldError

# What the robot answers, by what a switch is told: false, true.
SWITCHES = {'set_gripper': ('open', 'closed'), 'set_lights': ('off', 'on'),
            'set_door': ('closed', 'open')}
TRIGGERS = ('pick_up', 'put_down')


def switch(world: World, name: str, value: bool, words: Sequence[str] = ('off', 'on')) -> str:
    """
    Switch something and return its state.

    :param name: of SWITCHES, or of a service that does nothing but answer
    :param words: its answers to false and true, if it is not of SWITCHES
    :raises WorldError: if it does not work
    """
    word = SWITCHES.get(name, words)[value]
    try:
        world.fail_if_due(name)
    except WorldError:
        world.record(name, word, done=False)
        raise
    if name == 'set_gripper':
        if world.holding and not value:
            world.record('put_down', world.holding)
        world.set_gripper(value)
    elif name == 'set_lights':
        world.lights = value
    elif name == 'set_door':
        world.door_open = value
    world.record(name, word)
    return word


def trigger(world: World, name: str, answer: str = 'done') -> str:
    """
    Do something and return what came of it.

    :param name: of TRIGGERS, or of a service that does nothing but answer
    :raises WorldError: if it does not work
    """
    try:
        world.fail_if_due(name)
        if name == 'pick_up':
            thing = world.pick_up()
        elif name == 'put_down':
            thing = world.put_down()
        else:
            world.record(name)
            return answer
    except WorldError:
        world.record(name, done=False)
        raise
    world.record(name, thing)
    label = world.scene.labels.get(thing, '') if name == 'pick_up' else ''
    return f'{thing}; its label reads: {label}' if label else thing


def set_out(world: World, place: str, x: float, y: float) -> None:
    """
    Begin to drive.

    :param place: that is at this position; may be empty
    :raises WorldError: if the robot cannot
    """
    try:
        if place in world.scene.blocked:
            raise WorldError(f'the way to the {place} is blocked')
        world.fail_if_due('move_to')
        world.drive_to(x, y)
    except WorldError:
        world.record('move_to', place, done=False)
        raise


def arrive(world: World, place: str) -> str:
    """Take note that a drive has reached its end, and return what the robot answers."""
    world.record('move_to', place)
    notice = world.scene.notices.get(place, '')
    message = f'arrived at {place}' if place else 'arrived'
    return f'{message}; a sign here reads: {notice}' if notice else message
