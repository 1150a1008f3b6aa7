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
"""Calls that end, whatever their peers do; peers are in a process of their own."""

from collections.abc import Iterator
import gc
import json
from pathlib import Path
import random
import time

from edge_llm_interfaces.msg import ConfirmRequest
from edge_llm_interfaces.srv import Confirm
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import Status
from edge_llm_ros.ros.confirm_server import ConfirmServer
from edge_llm_ros.ros.goal_journal import GoalJournal
from edge_llm_ros.ros.qos import LATCHED
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.tools.stop_latch import StopLatch
import pytest
from rclpy.parameter import Parameter
from toolset_bench import (
    BATTERY, call, Calling, CREEP, LIGHTS, loaded, MOVE, SAY, SCAN, start_peers, ToolsetBench,
    until)


@pytest.fixture(scope='module')
def peers_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run peers in a domain that the tests of this file share."""
    folder = tmp_path_factory.mktemp('peers')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', str(random.SystemRandom().randrange(1, 100)))
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('ROS_HOME', str(folder))
        process = start_peers(folder)
        yield folder
        process.kill()
        process.wait(10.0)


@pytest.fixture(scope='module')
def module_bench(peers_folder: Path) -> Iterator[ToolsetBench]:
    """Return a bench whose node stays for all tests of this file."""
    bench = ToolsetBench()
    yield bench
    bench.stop()


@pytest.fixture
def tools(module_bench: ToolsetBench) -> Iterator[ToolsetBench]:
    """Return a bench without toolsets, with peers as they began."""
    module_bench.set_peers(percentage=0.8, battery_on=True)
    yield module_bench
    module_bench.drop()


@pytest.fixture(scope='module')
def all_tools(module_bench: ToolsetBench) -> Iterator[RosToolset]:
    """Return one toolset with a tool of every verb."""
    made = RosToolset(module_bench.node, module_bench.group, loaded(ALL))
    yield made
    made.destroy()


def _memory() -> int:
    gc.collect()
    return int(Path('/proc/self/statm').read_text().split()[1]) * 4096


@pytest.mark.parametrize('place, status, words', [
    ('kitchen', Status.SUCCEEDED, ''),
    ('reject', Status.FAILED, 'rejected'),
    ('abort', Status.FAILED, 'aborted: the wheel is blocked')])
def test_ends_of_an_action(tools: ToolsetBench, place: str, status: Status, words: str) -> None:
    journal = GoalJournal()
    observation = call(tools.toolset({'move': MOVE}, journal=journal), 'move', place=place)
    assert observation.status is status and words in observation.error
    until(lambda: not journal.entries())


@pytest.mark.parametrize('place, words', [
    ('forever', 'the goal was stopped'), ('stubborn', 'refuses to cancel and goes on'),
    ('lingering', 'has not stopped yet')])
def test_a_deadline_cancels_and_says_what_came_of_it(tools: ToolsetBench, place: str, words: str
                                                     ) -> None:
    journal = GoalJournal()
    toolset = tools.toolset({'move': {**MOVE, 'timeout': 0.5}}, journal=journal)
    start = time.monotonic()
    observation = call(toolset, 'move', place=place)
    assert observation.status is Status.FAILED and time.monotonic() - start < 5
    assert observation.error.startswith('not done within 0.5 s') and words in observation.error
    if place != 'forever':
        # Another cancel can still reach it, until it has ended.
        assert len(journal.entries()) == 1
        assert toolset.stop() == ['cancel sent to /move']
    until(lambda: not journal.entries())


def test_feedback_and_a_cancel(tools: ToolsetBench) -> None:
    running = Calling(tools.toolset({'move': MOVE}), 'move', place='forever')
    until(lambda: running.lines)
    assert json.loads(running.lines[0])['distance_remaining'] == 2.5
    until(lambda: tools.report()['running'] == 1)
    running.goal.cancel(Outcome.CANCELED)
    assert running.end(3.0).status is Status.CANCELED
    assert tools.report()['running'] == 0


@pytest.mark.parametrize('again', [False, True])
def test_a_server_that_dies_is_noticed(tools: ToolsetBench, tmp_path: Path, again: bool) -> None:
    mortal = start_peers(tmp_path, mortal=True)
    tool = {**MOVE, 'action': {**MOVE['action'], 'name': 'mortal/move'}, 'timeout': 60.0}
    try:
        running = Calling(tools.toolset({'move': tool}), 'move', place='forever')
        until(lambda: running.lines)
        mortal.kill()
        killed = time.monotonic()
        if again:
            # Another server takes its place at once, and knows nothing of the goal.
            mortal = start_peers(tmp_path, mortal=True)
        observation = running.end(10.0)
        assert 'died while the goal ran' in observation.error
        assert 'not known whether' in observation.error and time.monotonic() - killed < 8
    finally:
        mortal.kill()


def test_silent_and_wrong_services(tools: ToolsetBench) -> None:
    def lights(**service: str) -> dict:
        return {**LIGHTS, 'timeout': 0.5, 'service': {**LIGHTS['service'], **service}}

    toolset = tools.toolset({
        'deaf': lights(name='deaf_lights'), 'absent': lights(name='nowhere'),
        'other': {**lights(name='lights', type='std_srvs/srv/Trigger'), 'fixed': {}}})
    for name, words in (('deaf', "no response from 'deaf_lights' within 0.5 s"),
                        ('absent', "there is no service 'nowhere'"),
                        ('other', 'is of type std_srvs/srv/SetBool, not std_srvs/srv/Trigger')):
        start = time.monotonic()
        observation = call(toolset, name)
        assert observation.status is Status.FAILED and words in observation.error
        assert 0.4 < time.monotonic() - start < 1.5


@pytest.mark.parametrize('rounds', [50, pytest.param(500, marks=pytest.mark.soak)])
def test_timeouts_leave_nothing_behind(tools: ToolsetBench, rounds: int) -> None:
    journal = GoalJournal()
    toolset = tools.toolset({
        'lights': {**LIGHTS, 'timeout': 0.02, 'service': {
            'name': 'deaf_lights', 'type': 'std_srvs/srv/SetBool'}},
        'move': {**MOVE, 'timeout': 0.02, 'action': {**MOVE['action'], 'name': 'deaf_move'}}},
        journal=journal)
    lights, move = toolset._made['lights'], toolset._made['move']
    until(lambda: lights._client.ready() and move._client.ready())
    memory = 0
    for i in range(rounds + 20):
        if i == 20:
            memory = _memory()
        assert 'no response' in call(toolset, 'lights').error
        assert 'did not answer' in call(toolset, 'move', place='lab').error
    assert not lights._client._client._pending_requests
    clients = (move._client._sender, move._client._canceler, move._client._getter)
    assert sum(len(c._pending_requests) for c in clients) <= 8
    assert len(journal.entries()) <= 16 and not move._client._feedback
    assert _memory() - memory < (2 << 20) + rounds * 1024


def test_reads_fit_what_is_offered(tools: ToolsetBench) -> None:
    mode = {'description': 'd', 'effect': 'read', 'result': ['data'], 'timeout': 2.0,
            'read': {'topic': 'mode', 'type': 'std_msgs/msg/String'}}
    toolset = tools.toolset({
        'scan': SCAN, 'mode': mode,
        'latched_scan': {**SCAN, 'read': {**SCAN['read'], 'latched': True}},
        'absent': {**SCAN, 'timeout': 0.3, 'read': {**SCAN['read'], 'topic': 'nothing'}}})
    assert json.loads(call(toolset, 'scan').text) == {'temperature': 21.5}
    # The publisher keeps its only message; it comes although the file does not say so.
    assert json.loads(call(toolset, 'mode').text) == {'data': 'automatic'}
    assert call(toolset, 'latched_scan').status is Status.SUCCEEDED
    assert 'nobody publishes there' in call(toolset, 'absent').error


def test_what_is_of_another_type_is_told_at_configure(
        peers_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bench = ToolsetBench('other')
    try:
        bench.report()  # the peers are known now
        other = {**SCAN, 'timeout': 0.3, 'result': ['data'], 'read': {
            'topic': 'scan', 'type': 'std_msgs/msg/String'}}
        spin = {**MOVE, 'timeout': 0.3, 'arguments': {}, 'result': [], 'action': {
            'name': 'move', 'type': 'test_msgs/action/Fibonacci'}}
        publish = {**SAY, 'publish': {'topic': 'cmd_vel', 'type': 'std_msgs/msg/String'}}
        toolset = bench.toolset({'other': other, 'spin': spin, 'publish': {
            **publish, 'timeout': 0.3}})
        warned = capfd.readouterr().err
        for name, words in (
                ('other', "'scan' is of type sensor_msgs/msg/Temperature, not std_msgs/msg"),
                ('spin', "the action 'move' is of type edge_llm_interfaces/action/MoveTo, not "),
                ('publish', "'cmd_vel' is of type geometry_msgs/msg/Twist for its subscribers")):
            assert words in call(toolset, name).error
            assert f'tools.yaml: tools.{name}: {words}' in warned
        with pytest.raises(ConfigError, match='tools.twice: cannot be connected'):
            bench.toolset({'twice': {**SCAN}})
    finally:
        bench.stop()


def test_a_publish_tells_who_listened_and_ends_with_its_stop(tools: ToolsetBench) -> None:
    toolset = tools.toolset({'creep': CREEP, 'say': SAY, 'mute': {
        **SAY, 'timeout': 0.3, 'publish': {'topic': 'nothing', 'type': 'std_msgs/msg/String'}}})
    assert json.loads(call(toolset, 'say').text) == {'sent': True, 'subscribers': 1}
    assert "nobody listens on 'nothing'; nothing was sent" in call(toolset, 'mute').error
    before = len(tools.report()['velocities'])
    running = Calling(toolset, 'creep')
    until(lambda: len(tools.report()['velocities']) > before + 3)
    running.goal.cancel(Outcome.CANCELED)
    assert 'the stop message was sent' in running.end(1.0).error
    until(lambda: tools.report()['velocities'][-1] == 0.0)


def test_a_bug_while_publishing_still_stops_the_robot(
        tools: ToolsetBench, monkeypatch: pytest.MonkeyPatch) -> None:
    toolset = tools.toolset({'creep': CREEP})
    verb = toolset._made['creep']
    until(lambda: verb.listeners() > 0)
    monkeypatch.setattr(verb, '_latch', None)  # nothing can pass it
    before = len(tools.report()['velocities'])
    assert 'not known what came of it' in call(toolset, 'creep').error
    until(lambda: tools.report()['velocities'][before:] == [0.0])


def test_simulated_time_without_a_clock(tools: ToolsetBench) -> None:
    bench = ToolsetBench('sim_time', parameter_overrides=[Parameter('use_sim_time', value=True)])
    try:
        toolset = bench.toolset({
            'move': {**MOVE, 'timeout': 1.0}, 'scan': SCAN, 'lights': LIGHTS, 'creep': CREEP,
            'deaf': {**LIGHTS, 'timeout': 0.5, 'service': {
                'name': 'deaf_lights', 'type': 'std_srvs/srv/SetBool'}}}, {'battery': BATTERY})
        assert bench.node.get_clock().now().nanoseconds == 0
        assert [call(toolset, name).status for name in ('scan', 'lights', 'creep')] == [
            Status.SUCCEEDED] * 3
        assert 'the goal was stopped' in call(toolset, 'move', place='forever').error
        assert 'within 0.5 s' in call(toolset, 'deaf').error
    finally:
        bench.stop()


def test_stop_reaches_what_goes_on_and_lets_nothing_leave(tools: ToolsetBench) -> None:
    latch = StopLatch()
    toolset = tools.toolset({'move': MOVE, 'creep': CREEP, 'lights': LIGHTS, 'scan': SCAN},
                            latch=latch)
    moving, creeping = Calling(toolset, 'move', place='forever'), Calling(toolset, 'creep')
    before = len(tools.report()['velocities'])
    until(lambda: tools.report()['running'] == 1 and len(tools.report()['velocities']) > before)
    latch.engage()
    assert toolset.stop() == ['cancel sent to /move', 'stop message sent on /cmd_vel']
    until(lambda: tools.report()['running'] == 0)
    until(lambda: tools.report()['velocities'][-1] == 0.0)
    for running in (moving, creeping):
        running.goal.cancel(Outcome.STOPPED)
        assert running.end(5.0).status in (Status.CANCELED, Status.FAILED)
    time.sleep(0.2)
    told = tools.report()
    for name, arguments in (('move', {'place': 'lab'}), ('creep', {}), ('lights', {}),
                            ('scan', {}), ('wait', {'seconds': 0})):
        assert 'stopped' in call(toolset, name, **arguments).error
    assert tools.report() == told and told['velocities'][-1] == 0.0
    assert latch.release() and call(toolset, 'lights').status is Status.SUCCEEDED


# Nothing on the wire

ALL = {'move': MOVE, 'lights': LIGHTS, 'creep': CREEP, 'say': SAY, 'scan': SCAN}


@pytest.mark.parametrize('name', [
    'forbidden', '/forbidden', 'peers/forbidden', 'Lights', 'lights ', ' lights', '/lights',
    'light', 'lights\n', 'lіghts', 'MOVE', '/move', 'move/', 'move/_action/send_goal', 'cmd_vel',
    '/cmd_vel', 'creep ', '~/say', '/say', 'Say', 'battery', 'peers/set_parameters', '~/release'])
def test_what_is_not_in_the_file_is_refused_and_nothing_leaves(
        tools: ToolsetBench, all_tools: object, name: str) -> None:
    before = tools.report()
    for arguments in ({}, {'data': True}, {'place': 'kitchen'}):
        observation = call(all_tools, name, **arguments)
        assert observation.status is Status.REFUSED and 'no tool' in observation.error
    assert tools.report() == before


@pytest.mark.parametrize('name, arguments', [
    ('move', {}), ('move', {'place': 1}), ('move', {'place': 'a\0b'}),
    ('move', {'place': 'lab', 'pose': {}}), ('lights', {'data': False}), ('say', {'data': 'x'}),
    ('creep', {'linear.x': 9.0}), ('scan', {'topic': 'forbidden'})])
def test_what_a_call_may_not_say_never_leaves(tools: ToolsetBench, all_tools: object, name: str,
                                              arguments: dict) -> None:
    before = tools.report()
    assert call(all_tools, name, **arguments).status is Status.REFUSED
    assert tools.report() == before


def test_a_dry_run_reads_and_sends_nothing(tools: ToolsetBench, all_tools: object) -> None:
    before = tools.report()
    for name, arguments in (('move', {'place': 'kitchen'}), ('lights', {}), ('creep', {}),
                            ('say', {})):
        assert call(all_tools, name, dry_run=True, **arguments).status is Status.DRY_RUN
    assert call(all_tools, 'scan', dry_run=True).status is Status.SUCCEEDED
    assert tools.report() == before


@pytest.mark.parametrize('target, remap', [
    ('~/release', ''), ('~/confirm', ''), ('lights', 'lights:=planner/confirm'),
    ('planner/change_state', '')])
def test_no_tool_can_call_the_planner_itself(peers_folder: Path, target: str, remap: str) -> None:
    bench = ToolsetBench(cli_args=['--ros-args', '-r', remap] if remap else None)
    try:
        with pytest.raises(ConfigError, match="/planner/.* is the planner's own"):
            bench.toolset({'lights': {**LIGHTS, 'service': {**LIGHTS['service'], 'name': target}}})
    finally:
        bench.stop()


def test_a_remap_counts_for_every_verb(peers_folder: Path) -> None:
    arguments = ['--ros-args']
    for name in ('move', 'lights', 'cmd_vel', 'scan'):
        arguments += ['-r', f'other_{name}:={name}']
    bench = ToolsetBench('remapped', cli_args=arguments)
    try:
        tools = {
            'move': {**MOVE, 'action': {**MOVE['action'], 'name': 'other_move'}},
            'lights': {**LIGHTS, 'service': {**LIGHTS['service'], 'name': 'other_lights'}},
            'creep': {**CREEP, 'publish': {
                **CREEP['publish'], 'topic': 'other_cmd_vel', 'duration': 0.1}},
            'scan': {**SCAN, 'read': {**SCAN['read'], 'topic': 'other_scan'}}}
        toolset = bench.toolset(tools)
        assert [v.target.split()[1] for v in toolset._made.values()] == [
            '/move', '/lights', '/cmd_vel', '/scan']
        for name, arguments in (('move', {'place': 'kitchen'}), ('lights', {}), ('creep', {}),
                                ('scan', {})):
            assert call(toolset, name, **arguments).status is Status.SUCCEEDED
    finally:
        bench.stop()


# Conditions and confirmation

def test_conditions_on_a_topic(tools: ToolsetBench) -> None:
    toolset = tools.toolset({
        'lights': {**LIGHTS, 'requires': [
            'battery.percentage > 0.15', 'mode.data == "automatic"']},
        'move': {**MOVE, 'while': ['battery.percentage > 0.1']},
        'creep': {**CREEP, 'while': ['battery.percentage > 0.1']},
        'other': {**LIGHTS, 'requires': ['nothing.percentage > 0.1']}}, {
            'battery': BATTERY, 'nothing': {**BATTERY, 'topic': 'nothing'},
            'mode': {'topic': 'mode', 'type': 'std_msgs/msg/String', 'latched': True}})
    until(lambda: call(toolset, 'lights').status is Status.SUCCEEDED)
    assert 'nothing is known of nothing (nobody publishes there)' in call(toolset, 'other').error
    tools.set_peers(percentage=0.12)
    until(lambda: 'battery.percentage is 0.12' in call(toolset, 'lights').error)
    for name, arguments in (('move', {'place': 'forever'}), ('creep', {})):
        for change, words in (({'percentage': 0.05}, 'battery.percentage is 0.05'),
                              ({'battery_on': False}, 'the last battery is 0.')):
            tools.set_peers(percentage=0.8, battery_on=True)
            until(lambda: not toolset._gate.why_broken('move'))
            running = Calling(toolset, name, **arguments)
            time.sleep(0.3)
            tools.set_peers(**change)
            observation = running.end(3.0)
            assert observation.status is Status.FAILED and words in observation.error
            report = tools.report()
            assert report['running'] == 0 and report['velocities'][-1:] in ([], [0.0])
    got = tools.report()['got']
    assert call(toolset, 'move', place='forever').status is Status.REFUSED
    assert tools.report()['got'] == got


@pytest.mark.parametrize('test, words', [
    ('battery.percent > 1', "no field 'percent'"), ('battery.present > 1', 'cannot be compared'),
    ('battery.percentage == true', 'cannot be compared'),
    ('battery.header > 1', 'cannot be compared'), ('battery.location == 1', 'cannot be compared')])
def test_conditions_that_do_not_fit_the_type(tools: ToolsetBench, test: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"tools.lights: '{test}': .*{words}"):
        tools.toolset({'lights': {**LIGHTS, 'requires': [test]}}, {'battery': BATTERY})


def test_a_person_is_asked_through_ros(tools: ToolsetBench) -> None:
    server = ConfirmServer(tools.node, tools.group)
    asked: list = []
    subscription = tools.node.create_subscription(
        ConfirmRequest, 'planner/confirm_request', asked.append, LATCHED)
    client = tools.node.create_client(Confirm, 'planner/confirm')
    toolset = tools.toolset(
        {'lights': {**LIGHTS, 'confirm': 'always', 'confirm_timeout': 1.0}},
        confirmations=server.confirmations)
    try:
        for allow in (True, False):
            asked.clear()
            before = tools.report()['got'].get('lights', 0)
            running = Calling(toolset, 'lights')
            until(lambda: [m for m in asked if m.timeout.sec])
            request = asked[-1]
            assert request.target == 'service /lights std_srvs/srv/SetBool'
            assert request.deadline.sec >= int(time.time())
            wrong = tools.ask(client, Confirm.Request(call_id=request.call_id[:-1], allow=True))
            assert not wrong.success and tools.report()['got'].get('lights', 0) == before
            for counts in (True, False):
                answer = tools.ask(client, Confirm.Request(call_id=request.call_id, allow=allow))
                assert answer.success is counts and bool(answer.message) is not counts
            assert running.end(2.0).status is (Status.SUCCEEDED if allow else Status.REFUSED)
            assert tools.report()['got'].get('lights', 0) == before + allow
    finally:
        tools.node.destroy_subscription(subscription)
        tools.node.destroy_client(client)
