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


"""`edge_llm tools`, as a person types it, beside a real robot and a real planner."""

from pathlib import Path
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from edge_llm_ros.cli.tools_call import tool_call
from edge_llm_ros.cli.tools_policy import policy
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.tools.load_tools import load_tools
import pytest
from rclpy.action import get_action_client_names_and_types_by_node as actions_called
from rclpy.action import get_action_server_names_and_types_by_node as actions_served
from robot_bench import Bench
import yaml

CONFIG = Path(__file__).resolve().parent.parent / 'config'
ROBOT = str(CONFIG / 'simulated_robot.yaml')


def _tools(*words: str, code: int = 0) -> str:
    """Run the command; return what it printed."""
    result = subprocess.run([sys.executable, '-m', 'edge_llm_ros.cli.main', 'tools', *words],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == code, result.stdout + result.stderr
    assert 'Traceback' not in result.stderr
    return result.stdout + result.stderr


def test_check_call_and_scaffold_beside_a_robot(bench: Bench, test_model: str, tmp_path: Path
                                                ) -> None:
    bench.robot(speed=8.0)
    said = _tools('check', ROBOT, '--model', test_model, '--graph', '10')
    assert '12 tools, 3 built in, 0 problems' in said
    assert 'move_to  act  call move_to edge_llm_interfaces/action/MoveTo  ' in said
    assert 'all tools: ' in said and ' tokens with chatml' in said
    assert '"name": "set_door"' in said and 'not exposed  pose' in said
    assert _tools('call', 'set_lights', 'state=on', '--tools', ROBOT).endswith('SUCCEEDED\n')
    assert bench.state()['lights'] is True
    assert 'DRY_RUN' in _tools('call', 'move_to', 'place=lab', '--tools', ROBOT, '--dry-run')
    assert bench.state()['place'] == 'dock'
    assert 'arrived' in _tools('call', 'move_to', 'place=lab', '--tools', ROBOT)
    assert bench.state()['place'] == 'lab'
    assert 'REFUSED' in _tools('call', 'creep', 'speed=9', 'seconds=1', '--tools', ROBOT, code=1)
    made = _tools('scaffold', '/simulated_robot/reset', '--tool', 'put_back', '--wait', '20')
    tool = yaml.safe_load(made)['tools']['put_back']
    assert tool['service'] == {'name': 'simulated_robot/reset', 'type': 'std_srvs/srv/Trigger'}
    path = tmp_path / 'made.yaml'
    path.write_text(made)
    assert 'description: is still to be filled in' in _tools('check', str(path), code=1)
    path.write_text(made.replace('FILL IN', 'Done'))
    assert '0 problems' in _tools('check', str(path), '--graph', '10')


def test_check_says_what_does_not_fit_the_graph(bench: Bench, tmp_path: Path) -> None:
    bench.robot()
    tools = {name: {'description': name, 'effect': effect, **rest} for name, effect, rest in (
        ('gone', 'act', {'service': {'name': 'gone', 'type': 'std_srvs/srv/Trigger'}}),
        ('other', 'act', {'service': {'name': 'set_lights', 'type': 'std_srvs/srv/Trigger'}}),
        ('kept', 'read', {'read': {'topic': 'battery_state', 'latched': True,
                                   'type': 'sensor_msgs/msg/BatteryState'},
                          'result': ['percentage']}),
        ('strange', 'act', {'service': {'name': 'a', 'type': 'no_srvs/srv/No'}}),
        ('wrong', 'act', {'service': {'name': 'set_lights', 'type': 'std_srvs/srv/SetBool'},
                          'fixed': {'date': 1}}))}
    said = _tools('check', bench.file('t.yaml', {'version': 1, 'tools': tools}), '--graph', '8',
                  code=1)
    for reason in ("tools.gone: there is no service 'gone' now",
                   "tools.other: 'set_lights' is of type std_srvs/srv/SetBool",
                   'tools.kept: the QoS of simulated_robot does not fit',
                   "tools.strange.service.type: the interface 'no_srvs/srv/No' is not installed",
                   "tools.wrong.fixed: date: there is no field 'date'"):
        assert f'PROBLEM  {reason}' in said.replace(f'{bench.folder}/t.yaml: ', ''), said


@pytest.mark.parametrize('kind', [
    'geometry_msgs/msg/Twist', 'std_srvs/srv/SetBool', 'std_srvs/srv/Trigger',
    'edge_llm_interfaces/action/MoveTo', 'test_msgs/srv/Arrays', 'test_msgs/action/NestedMessage',
    'sensor_msgs/msg/BatteryState'])
def test_every_scaffold_is_a_tool_file(kind: str, tmp_path: Path) -> None:
    from edge_llm_ros.cli.tools_scaffold import tool_text
    for publish in (False, True):
        path = tmp_path / 'tools.yaml'
        path.write_text(tool_text(kind, 'a/b', 'made', publish))
        assert list(load_tools([str(path)]).tools) == ['made']


def test_values_of_a_command_line_have_the_types_of_the_tool() -> None:
    schemas = load_tools([ROBOT]).schemas()
    call = tool_call('creep', ['speed=-0.1', 'seconds=2', 'odd=x=y'], schemas)
    assert call.arguments == {'speed': -0.1, 'seconds': 2, 'odd': 'x=y'}
    for words in (['speed=fast'], ['speed']):
        with pytest.raises(EdgeLlmError):
            tool_call('creep', words, schemas)
    with pytest.raises(EdgeLlmError, match='tools: move_to'):
        tool_call('fly', [], schemas)


def _names(root: ElementTree.Element, kind: str, qualifier: str) -> set[str]:
    """Return the names that a policy allows, as a planner at the root resolves them."""
    found = set()
    for group in root.iter(f'{kind}s'):
        if group.get(qualifier) == 'ALLOW':
            found |= {name.text.replace('~/', '/planner/', 1) if name.text.startswith('~')
                      else f'/{name.text.lstrip("/")}' for name in group}
    return found


def test_a_policy_names_what_the_planner_has_and_nothing_else(bench: Bench, test_model: str
                                                              ) -> None:
    tools = yaml.safe_load(Path(ROBOT).read_text())
    tools['builtins']['ask_person'] = 5.0
    tools['context_from'] = {'door': {'topic': 'door_open', 'type': 'std_msgs/msg/Bool',
                                      'field': 'data', 'latched': True}}
    bench.planner(test_model, tools['tools'], builtins=tools['builtins'])
    path = bench.file('policy.yaml', {**tools, 'context_from': {}})
    root = ElementTree.fromstring(policy(load_tools([path]), 'planner', '/'))
    assert root.find('enclaves/enclave').get('path') == '/planner'
    node = bench.node

    def there(find: object, *rest: object) -> set[str]:
        return {name for name, _ in find(*rest, 'planner', '/') if '/_action/' not in name}

    for kind, qualifier, has in (
            ('topic', 'publish', there(node.get_publisher_names_and_types_by_node)),
            ('topic', 'subscribe', there(node.get_subscriber_names_and_types_by_node)),
            ('service', 'reply', there(node.get_service_names_and_types_by_node)),
            ('service', 'request', there(node.get_client_names_and_types_by_node)),
            ('action', 'execute', there(actions_served, node)),
            ('action', 'call', there(actions_called, node))):
        allowed = _names(root, kind, qualifier)
        # Whether these are there depends on parameters and on the distribution.
        allowed -= {'/clock', '/parameter_events', '/planner/get_type_description'} - has
        assert allowed == has, (kind, qualifier)
