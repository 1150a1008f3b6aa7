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

"""The simulated world is the same for the same seed, and its robot obeys physics of its own."""

from edge_llm_ros.sim.commands import arrive, set_out, switch, trigger
from edge_llm_ros.sim.scene import Failure, Scene
from edge_llm_ros.sim.world import BEHIND_DOOR, PLACES, World, WorldError
import pytest


def drive(world: World, place: str) -> None:
    world.drive_to(*PLACES[place])
    for _ in range(2000):
        world.tick(0.05)
        if world.target is None:
            return
    raise AssertionError('never arrived')


def test_the_same_seed_is_the_same_world() -> None:
    assert World(seed=3).state() == World(seed=3).state()
    assert World(seed=3).temperatures == World(seed=3).temperatures != World(seed=4).temperatures


def test_driving_takes_time_and_charge_and_is_on_the_path() -> None:
    world = World(speed=1.0)
    world.drive_to(*PLACES['kitchen'])
    world.tick(1.0)
    assert world.moving and world.remaining == pytest.approx(20 ** 0.5 - 1)
    drive(world, 'kitchen')
    assert world.place == 'kitchen' and world.path == ['dock', 'kitchen'] and world.battery < 80
    world.tick(0.05)
    assert not world.moving


def test_the_dock_charges_and_an_empty_battery_does_not_drive() -> None:
    world = World(battery=10.0)
    world.tick(5.0)
    assert world.battery == 15.0
    world.battery = 0.0
    with pytest.raises(WorldError, match='empty'):
        world.drive_to(1.0, 1.0)


def test_a_closed_door_is_closed() -> None:
    world = World(door_open=False)
    with pytest.raises(WorldError, match='door'):
        world.drive_to(*PLACES[BEHIND_DOOR])
    world.door_open = True
    drive(world, BEHIND_DOOR)
    world.door_open = False
    with pytest.raises(WorldError, match='door'):
        world.drive_to(*PLACES['dock'])


def test_the_watchdog_stops_what_nobody_commands() -> None:
    for watchdog, moves in ((0.5, False), (0.0, True)):
        world = World(watchdog=watchdog)
        world.set_velocity(0.2, 0.0)
        for _ in range(40):
            world.tick(0.05)
        assert world.moving is moves


def test_objects_are_carried() -> None:
    world = World(seed=1)
    with pytest.raises(WorldError, match='no object here'):
        world.pick_up()
    place = world.objects['cup']
    drive(world, place)
    name = world.pick_up()
    with pytest.raises(WorldError, match='already holds'):
        world.pick_up()
    drive(world, 'lab')
    assert world.put_down() == name and world.objects[name] == 'lab'
    with pytest.raises(WorldError, match='holds nothing'):
        world.put_down()


def test_a_scene_changes_what_it_says_and_nothing_else() -> None:
    plain = World(seed=3)
    places = {'gym': (1.0, 6.0)}
    scene = Scene(start='gym', battery=12.0, holding='box', door='closed', lights='on',
                  places=places, temperatures={'lab': 30.0})
    world = World(seed=3, scene=scene)
    assert (world.place, world.battery, world.holding) == ('gym', 12.0, 'box')
    assert not world.door_open and world.lights and world.objects == {
        **plain.objects, 'box': 'gym'}
    assert world.temperatures == {
        **plain.temperatures, 'lab': 30.0, 'gym': world.temperatures['gym']}
    assert World(seed=3, scene=Scene()).state() == plain.state()
    assert World(seed=3, scene=Scene(seed=4)).temperatures == World(seed=4).temperatures
    world = World(scene=Scene(objects={'cup': 'dock'}, charging=0.0))
    world.tick(10.0)
    assert world.battery == 80.0 and world.objects == {'cup': 'dock'}


def test_faults_of_a_scene_end_when_they_should() -> None:
    world = World(scene=Scene(
        blocked=('lab',), failures={'set_gripper': Failure(times=2, message='it is jammed'),
                                    'move_to': Failure(times=-1)}))
    for _ in range(2):
        with pytest.raises(WorldError, match='jammed'):
            switch(world, 'set_gripper', True)
    assert switch(world, 'set_gripper', True) == 'closed' and world.gripper_closed
    for _ in range(3):
        with pytest.raises(WorldError, match='fault'):
            set_out(world, 'kitchen', *PLACES['kitchen'])
    with pytest.raises(WorldError, match='blocked'):
        set_out(world, 'lab', *PLACES['lab'])
    assert [e['done'] for e in world.events] == [False, False, True, False, False, False, False]


def test_what_the_robot_reads_and_what_it_tells_of_itself() -> None:
    world = World(scene=Scene(objects={'cup': 'kitchen'}, notices={'kitchen': 'Keep out!'},
                              labels={'cup': 'Fragile'}))
    set_out(world, 'kitchen', *PLACES['kitchen'])
    drive(world, 'kitchen')
    assert arrive(world, 'kitchen') == 'arrived at kitchen; a sign here reads: Keep out!'
    assert trigger(world, 'pick_up') == 'cup; its label reads: Fragile'
    world.say('Hello')
    assert switch(world, 'set_gripper', False) == 'open' and not world.holding
    assert switch(world, 'set_window', True, ('shut', 'wide')) == 'wide'
    assert trigger(world, 'take_photo', 'photo_1') == 'photo_1'
    with pytest.raises(WorldError, match='holds nothing'):
        trigger(world, 'put_down')
    assert [(e['call'], e['detail'], e['done']) for e in world.events] == [
        ('move_to', 'kitchen', True), ('pick_up', 'cup', True), ('say', 'Hello', True),
        ('put_down', 'cup', True), ('set_gripper', 'open', True), ('set_window', 'wide', True),
        ('take_photo', '', True), ('put_down', '', False)]
    assert {e['place'] for e in world.events} == {'kitchen'}
