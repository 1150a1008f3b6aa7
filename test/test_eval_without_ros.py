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

"""Missions without ROS: the robot tells the same as over ROS, and nothing of ROS is needed."""

from collections.abc import Iterator
import json
import os
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from edge_llm_ros.agent.parameters import parameter_values, PARAMETERS
from edge_llm_ros.cli.calls import call as call_service, robot_state, set_parameter
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.eval.arms import read_arms
from edge_llm_ros.eval.instant_robot import InstantRobot
from edge_llm_ros.eval.instant_tools import instant_toolset
from edge_llm_ros.eval.mission import all_cases
from edge_llm_ros.eval.rehearsal import SPEED
from edge_llm_ros.eval.tool_sets import more_parameter, parsed, tool_sets, write_tools
from edge_llm_ros.eval.written_call import read_call
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.sim.scene import Scene
from edge_llm_ros.sim.world import World
from edge_llm_ros.tools.load_tools import load_tools, LoadedTools
import pytest
from rclpy.node import Node
from robot_bench import CONFIG
from std_srvs.srv import Trigger
from toolset_bench import ToolsetBench

ROOT = Path(__file__).resolve().parent.parent
SETS = tool_sets()
READS = ('get_', 'is_')
# Every tool of all, faults that go and faults that stay, and what the robot reads on its way.
FAULTS: dict[str, Any] = {
    'seed': 3, 'battery': 71.5, 'charging': 0.0, 'objects': {'box': 'lab', 'ball': 'gym'},
    'places': dict(SETS.places), 'blocked': ['garage'], 'door': 'closed',
    'notices': {'lab': 'Wet floor "here"'}, 'labels': {'box': '此面向上'},
    'failures': {'set_gripper': {'times': 1, 'message': 'jammed'}, 'set_lights': {'times': -1},
                 'set_fan': {'times': 1}, 'lift_up': {'times': 1, 'message': 'too heavy'},
                 'move_to': {'times': 1, 'message': 'a wheel slips'},
                 'pick_up': {'times': 1}}}
FAULTY = ['move_to lab', 'move_to lab', 'get_location', 'get_battery', 'get_temperature',
          'pick_up', 'pick_up', 'pick_up', 'set_gripper closed', 'set_gripper closed',
          'move_to garage', 'move_to storage', 'is_door_open', 'set_door open', 'is_door_open',
          'move_to storage', 'get_temperature', 'set_lights on', 'set_lights on', 'put_down',
          'put_down', 'say Grüß "Gott" 你好', 'wait 0.1', 'compare 3.5 3.50', 'get_location',
          'get_battery', 'set_fan on', 'set_fan on', 'set_fan off', 'lift_up', 'lift_up',
          'move_to gym', 'pick_up', 'set_gripper open']


@pytest.fixture
def robot(domain: int, node: Node, tmp_path: Path) -> Iterator[tuple[LoadedTools, RosToolset]]:
    """Yield the largest set of tools, and those tools on a simulated robot of another process."""
    content = SETS.tool_file('forty', CONFIG / 'simulated_robot.yaml')
    write_tools(content, tmp_path / 'tools.yaml')
    loaded = load_tools([str(tmp_path / 'tools.yaml')])
    own = parsed(SETS.tool_file('base', CONFIG / 'simulated_robot.yaml')).tools
    more = more_parameter(loaded.tools, own)
    bench = ToolsetBench()
    toolset = RosToolset(bench.node, bench.group, loaded)
    try:
        with NodeProcess('edge_llm_ros.sim.robot_node', 'simulated_robot',
                         {'speed': SPEED, 'more': more}, tmp_path):
            yield loaded, toolset
    finally:
        toolset.destroy()
        bench.stop()


def made(toolset: Any, loaded: LoadedTools, text: str) -> Observation:
    observation: Observation = toolset.call(
        read_call(text, loaded.tools), Cancellation(), allowed=None, dry_run=False,
        on_progress=lambda line: None)
    return observation


def begin(node: Node, scene: Scene) -> InstantRobot:
    assert not set_parameter(node, 'simulated_robot', 'scene', scene.model_dump_json())
    call_service(node, Trigger, 'simulated_robot/reset', Trigger.Request())
    return InstantRobot(World(speed=SPEED, scene=scene))


def test_a_robot_without_ros_tells_the_same(robot: tuple[LoadedTools, RosToolset], node: Node
                                            ) -> None:
    """Observations, events and states are equal over ROS and without, faults included."""
    loaded, over_ros = robot
    cases = [c for c in all_cases(SETS.places) if c.split == 'tuning' and c.language == 'en'
             and c.world == 1 and c.kind in ('tool_fault', 'injection') and c.tools == 'base'][::4]
    plans = [(Scene.model_validate(FAULTS), FAULTY)] + [
        (case.scene, [text for goal in case.goals for text in goal.solution[:-1]])
        for case in cases]
    rest = [name for name in loaded.tools if not any(
        text.split()[0] == name for text in FAULTY) and not loaded.tools[name].arguments]
    plans.append((Scene(charging=0.0), [*rest, 'play_sound horn', 'show_text Hi', 'log_note x y']))
    assert len(plans) == 6 and over_ros.schemas() == loaded.schemas()
    for scene, calls in plans:
        instant = begin(node, scene)
        toolset = instant_toolset(loaded, instant)
        for text in calls:
            if text.startswith(READS):
                time.sleep(0.3)  # which a model takes longer than: topics tell of the new state
            there, here = made(over_ros, loaded, text), made(toolset, loaded, text)
            assert here == there, text
        told = call_service(node, Trigger, 'simulated_robot/events', Trigger.Request()).message
        assert json.loads(told) == instant.world.events
        time.sleep(0.3)  # some ticks: it moves no more
        assert robot_state(node) == json.loads(json.dumps(instant.world.state()))


def test_a_drive_at_a_speed_tells_the_same(robot: tuple[LoadedTools, RosToolset], node: Node
                                           ) -> None:
    loaded, over_ros = robot
    instant = begin(node, Scene(charging=0.0))
    there = json.loads(made(over_ros, loaded, 'creep -0.2 0.5').text)
    here = json.loads(made(instant_toolset(loaded, instant), loaded, 'creep -0.2 0.5').text)
    # On a loaded machine the real one may have taken longer.
    assert there.pop('seconds') >= here.pop('seconds') == 0.5 and here == there
    told = call_service(node, Trigger, 'simulated_robot/events', Trigger.Request()).message
    assert json.loads(told) == instant.world.events


@pytest.mark.parametrize('change, reason', [
    ({'signals': {'door': {'topic': 'door_open', 'type': 'std_msgs/msg/Bool'}}}, 'over ROS only'),
    ({'tools': {'dance': {'description': 'd', 'effect': 'act', 'service': {
        'name': 'dance', 'type': 'my_msgs/srv/Dance'}}}}, 'tools.dance: the simulated robot has')])
def test_what_the_simulated_robot_has_not_is_said(change: dict[str, Any], reason: str) -> None:
    content = SETS.tool_file('base', CONFIG / 'simulated_robot.yaml')
    file = parsed({**content, **change})
    loaded = LoadedTools(file.tools, file.builtins, dict.fromkeys(file.tools, 'tools.yaml'),
                         file.signals)
    with pytest.raises(ConfigError, match=reason):
        instant_toolset(loaded, InstantRobot(World()))


def test_time_in_the_world_takes_none_here() -> None:
    loaded = load_tools([str(CONFIG / 'simulated_robot.yaml')])
    toolset = instant_toolset(loaded, InstantRobot(World(speed=0.5)))
    start = time.monotonic()
    for text in ('wait 30', 'move_to entrance', 'creep 0.3 5'):
        assert made(toolset, loaded, text).status is Status.SUCCEEDED, text
    assert time.monotonic() - start < 5


def test_parameters_are_those_of_the_planner() -> None:
    values = parameter_values({'temperature': 1})
    assert set(values) == {p.name for p in PARAMETERS} and values['temperature'] == 1.0
    for wrong, reason in (({'heat': 1}, 'no parameter'), ({'temperature': 9.0}, 'not in')):
        with pytest.raises(ConfigError, match=reason):
            parameter_values(wrong)


def test_arms_are_prompts_tools_and_parameters(tmp_path: Path) -> None:
    (tmp_path / 'plain.yaml').write_text('version: 1')
    (tmp_path / 'warm').mkdir()
    (tmp_path / 'warm' / 'parameters.yaml').write_text('temperature: 0.5')
    plain, warm = read_arms(tmp_path)
    assert (plain.name, plain.prompt) == ('plain', tmp_path / 'plain.yaml')
    assert warm.prompt is None and warm.parameters == {'temperature': 0.5}
    (tmp_path / 'warm' / 'promt.yaml').write_text('')
    for folder, reason in ((tmp_path, 'promt.yaml'), (tmp_path / 'none', 'no arm')):
        with pytest.raises(ConfigError, match=reason):
            read_arms(folder)


# Each Python process imports it first.
NO_ROS = """
import sys


class Refuse:
    def find_spec(self, name, path=None, target=None):
        root = name.split('.')[0]
        if root.startswith(('rcl', 'rosidl', 'ament', 'edge_llm_interfaces')) or root.endswith(
                ('_msgs', '_srvs', '_interfaces')):
            raise ImportError(f'{name}: there is no ROS here')


sys.meta_path.insert(0, Refuse())
"""


def test_missions_run_in_processes_where_there_is_no_ros(tiny_model: str, tmp_path: Path) -> None:
    """Two arms, two processes, and nothing twice."""
    arms = tmp_path / 'arms'
    (arms / 'short').mkdir(parents=True)
    (arms / 'short' / 'parameters.yaml').write_text('text_length: 40')
    (arms / 'plain.yaml').write_text('version: 1\nsystem: You control a robot.\n')
    (tmp_path / 'sitecustomize.py').write_text(NO_ROS)
    env = {**os.environ, 'PYTHONPATH': os.pathsep.join((str(tmp_path), str(ROOT)))}
    assert subprocess.run([sys.executable, '-c', 'import rclpy'], env=env,
                          capture_output=True).returncode
    command = [sys.executable, '-m', 'edge_llm_ros.eval', '--model', tiny_model, '--missions',
               'five_*', '--worlds', '1', '--language', 'en', '--split', 'tuning', '--arms',
               str(arms), '--prefixes', '', '--threads', '1', '--jobs', '2', '--out',
               str(tmp_path / 'out')]
    for expected, limit in (('0 of them done', '1'), ('1 of them done', '2')):
        done = subprocess.run([*command, '--limit', limit], capture_output=True, text=True,
                              timeout=240, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(expected) == 2
    for arm in ('plain', 'short'):
        report = json.loads((tmp_path / 'out' / arm / 'report.json').read_text())
        assert len(report['cases']) == 2 and report['scores']['invalid_calls'] == 0
        assert report['meta']['way'] == 'without ROS, 2 processes'
        assert len((tmp_path / 'out' / arm / 'rows.jsonl').read_text().splitlines()) == 2
        case = report['cases'][0]
        assert len(case['observations']) == len(case['calls'])
