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


"""Tool files: whatever is in one, it is loaded or refused in words, with its line, and at once."""

import json
from pathlib import Path
import time

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.prompt.chatml import ChatML
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.strict_yaml import read_document
from edge_llm_ros.tools.tool_file import ToolFile
from hypothesis import given, settings, strategies as st
import pytest
import tool_file_schema
import yaml

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = (ROOT / 'config' / 'simulated_robot.yaml').read_text()
TOOL = """version: 1
context_from:
  battery: {topic: battery_state, type: sensor_msgs/msg/BatteryState, field: percentage}
tools:
  look:
    description: Look.
    effect: read
    service: {name: look, type: std_srvs/srv/Trigger}
    arguments:
      thing:
        description: What at
        type: string
        values_from: {topic: things, type: std_msgs/msg/String, field: data}
      far: {description: How far, type: number, minimum: 0.5}
"""
MANY = """  tool_%d:
    description: Drive.
    effect: act
    service: {name: drive, type: std_srvs/srv/SetBool}
    arguments:
      place: {description: Where to, enum: [a, b, c]}
      speed: {description: How fast, type: number, minimum: -1, maximum: 1.5}
"""


def _file(tmp_path: Path, text: str) -> str:
    path = tmp_path / 'tools.yaml'
    path.write_bytes(text.encode('utf-8', 'surrogatepass'))
    return str(path)


@pytest.mark.parametrize('change, line, reason', [
    (('minimum: 0.5', 'minimum: "0.5"'), 14, "not the text '0.5'"),
    (('minimum: 0.5', 'minimum: 010'), 14, 'plain decimal number'),
    (('minimum: 0.5', 'minimum: 1:30'), 14, "not the text '1:30'"),
    (('minimum: 0.5', 'minimum: .inf'), 14, "not the text '.inf'"),
    (('minimum: 0.5', 'minimum: 1e999'), 14, 'too large'),
    (('minimum: 0.5', 'minimum: 1' + '0' * 99), 14, 'more than 64 digits'),
    (('minimum: 0.5', 'minimum: 0.5, latched: true'), 14, 'is not a key here'),
    (('field: data}', 'field: data, latched: yes}'), 13, 'write true or false'),
    (('field: data}', 'field: data, latched: on}'), 13, 'write true or false'),
    (('field: data}', 'field: a..b}'), 13, 'not a path'),
    (('topic: things, ', ''), 13, 'either topic or service'),
    (('topic: things', 'topic: /things'), 13, 'no leading "/"'),
    (('std_msgs/msg/String', 'std_msgs/srv/String'), 13, 'package/msg/Name'),
    (('What at\n', 'What at\n        enum: [a]\n'), 10, 'values_from'),
    (('type: string', 'type: number'), 10, 'values_from'),
    (('description: Look.', 'description: 5'), 6, 'quote it'),
    (('description: Look.', 'description: &a Look.\n    fixed: {a: *a}'), 7, 'aliases'),
    (('description: Look.', 'description: !x Look.'), 6, 'tag'),
    (('description: Look.', 'description: "\\0"'), 6, 'cannot be sent'),
    (('effect: read', 'effect: read\n    on: {a: 1}'), 8, 'is not a key here'),
    (('effect: read', 'effect: read\n    true: {a: 1}'), 8, 'quote it'),
    (('effect: read', 'effect: read\n    ? {a: 1}\n    : 1'), 8, 'not text'),
    (('effect: read', 'effect: read\n    effect: act'), 8, 'first in line 7'),
    (('version: 1', '%YAML 1.1\n---\nversion: 1'), 1, 'directives'),
    (('tools:', '---\ntools:'), 4, 'only one document'),
    (('battery:', 'Battery Level:'), 3, 'not a name'),
    (('  look:', '  ask_person:'), 5, 'built in'),
])
def test_errors_name_line_and_reason(tmp_path: Path, change: tuple[str, str], line: int,
                                     reason: str) -> None:
    assert TOOL.count(change[0]) >= 1
    path = _file(tmp_path, TOOL.replace(*change, 1))
    with pytest.raises(ConfigError) as error:
        read_file(path, ToolFile)
    assert f'{path}, line {line}: ' in str(error.value) and reason in str(error.value), error.value


def test_a_file_as_it_should_be_is_read_with_every_line(tmp_path: Path) -> None:
    document = read_document(_file(tmp_path, TOOL))
    assert document.value == yaml.safe_load(TOOL)
    lines = TOOL.splitlines()
    assert len(document.lines) > 20
    for where, line in document.lines.items():
        assert f'{where[-1]}:' in lines[line - 1], where


@pytest.mark.parametrize('name, text', [
    ('tools', 'version: 1\ntools:\n' + ''.join(MANY % i for i in range(10_000))),
    ('flow mappings', '{' * 200_000), ('flow lists', 'a: ' + '[' * 200_000),
    ('block lists', '- ' * 100_000), ('keys in keys', '? ' * 100_000),
    ('text', 'a: "' + 'x' * 4_000_000 + '"'), ('lines', 'a: |\n' + ' x\n' * 1_300_000),
    ('escapes', 'a: "' + '\\x41' * 1_000_000 + '"'), ('items', 'a: [' + '1,' * 1_500_000 + ']'),
    ('keys', 'a: {' + ','.join(f'k{i}: 1' for i in range(200_000)) + '}'),
    ('a key', '"' + 'k' * 100_000 + '": 1'), ('tags', 'a: ' + '!' * 1_000_000),
    ('tag directives', ''.join(f'%TAG !t{i}! x\n' for i in range(150_000)) + '--- {a: 1}'),
    ('values', 'a: [' + ','.join('[' + '1,' * 4000 + ']' for _ in range(400)) + ']'),
    ('colons', ': ' * 1_000_000), ('size', 'a: 1\n' + '#' * (5 << 20)),
    ('laughs', 'a: &a [x, x]\n' + ''.join(
        f'{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n' for i in range(20))),
])
def test_hostile_files_are_refused_at_once(tmp_path: Path, name: str, text: str) -> None:
    path = _file(tmp_path, text)
    start = time.monotonic()
    with pytest.raises(ConfigError) as error:
        read_file(path, ToolFile)
    assert time.monotonic() - start < 2.0
    assert path in str(error.value) and len(str(error.value)) < 1000 + len(path)
    if name == 'tools':
        assert 'tools: more than 256 keys' in str(error.value)


def test_the_most_that_is_allowed_is_read_in_time(tmp_path: Path) -> None:
    path = _file(tmp_path, 'version: 1\ntools:\n' + ''.join(MANY % i for i in range(256)))
    start = time.monotonic()
    assert len(load_tools([path]).tools) == 256
    assert time.monotonic() - start < 2.0
    more = tmp_path / 'more.yaml'
    more.write_text('version: 1\ntools:\n' + MANY % 256)
    with pytest.raises(ConfigError, match='more.yaml: tools: the files have 257 tools together'):
        load_tools([path, str(more)])


def test_all_faults_of_a_file_are_told_and_not_too_many(tmp_path: Path) -> None:
    text = 'version: 1\ntools:\n' + ''.join(
        (MANY % i).replace('Drive.', '""') for i in range(50))
    with pytest.raises(ConfigError) as error:
        load_tools([_file(tmp_path, text)])
    assert len(str(error.value).splitlines()) == 21 and 'and 30 more' in str(error.value)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    import os
    os.mkfifo(tmp_path / 'pipe')
    for path in (tmp_path, tmp_path / 'pipe', tmp_path / 'none', Path('a\0b')):
        with pytest.raises(ConfigError):
            read_document(str(path))


def _only_config_errors(folder: Path, text: str) -> None:
    try:
        load_tools([_file(folder, text)])
    except ConfigError as error:
        assert 'tools.yaml' in str(error)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one folder for all examples of a property."""
    return tmp_path_factory.mktemp('files')


WORDS = st.sampled_from([
    'version: 1', 'tools:', '  a:', '    effect: act', '- ', ': ', '{', '}', '[', ']', ',', '\n',
    '&a ', '*a', '!!binary ', '? ', '|\n', '"', "'", '%TAG ! x', '---', '...', '#', '1e9', '.nan',
    '<<: ', '\t', '    description: x', '\x07', '\u2028', '\ufeff', '0x1', 'null', '~'])


@given(st.one_of(st.text(), st.lists(WORDS).map(''.join), st.lists(WORDS).map('\n'.join)))
@settings(max_examples=300, deadline=2000)
def test_no_text_raises_anything_but_a_config_error(folder: Path, text: str) -> None:
    _only_config_errors(folder, text)


KEYS = st.sampled_from([
    'version', 'tools', 'builtins', 'context_from', 'look', 'description', 'effect', 'service',
    'action', 'publish', 'read', 'arguments', 'fixed', 'result', 'timeout', 'type', 'name',
    'topic', 'field', 'enum', 'values', 'values_from', 'minimum', 'maximum', 'max_length',
    'default', 'unit', 'rate', 'duration', 'stop', 'latched', 'finish', 'look_around', 'readings',
    'dry_run_result', 'scale', 'digits', 'max_age', 'places', 'as', 'requires', 'confirm'])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(['a', 'read', 'act', 'number', 'std_srvs/srv/SetBool', 'std_msgs/msg/String',
                     'a.b[].c', 'x' * 3000]))
TREES = st.recursive(LEAVES, lambda inner: st.one_of(
    st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)), max_leaves=30)


@given(st.lists(st.tuples(st.lists(KEYS, min_size=1, max_size=5), TREES), max_size=4))
@settings(max_examples=300, deadline=2000)
def test_no_tree_raises_anything_but_a_config_error(folder: Path, changes: list) -> None:
    tree = yaml.safe_load(TOOL)
    for path, value in changes:
        at = tree
        for key in path[:-1]:
            at = at.setdefault(key, {}) if isinstance(at, dict) else {}
        if isinstance(at, dict):
            at[path[-1]] = value
    _only_config_errors(folder, yaml.safe_dump(tree))


@given(st.integers(0, len(SHIPPED) - 1), st.integers(0, 80), WORDS)
@settings(max_examples=200, deadline=2000)
def test_no_slip_of_the_pen_raises_anything_else(folder: Path, at: int, cut: int, put: str
                                                 ) -> None:
    _only_config_errors(folder, SHIPPED[:at] + put + SHIPPED[at + cut:])


def _schema(name: str, argument: dict) -> ToolSchema:
    return ToolSchema(name, 'd', {
        'type': 'object', 'properties': {'a': argument}, 'required': ['a']})


def _model(engine: LocalEngine, tools: list[ToolSchema]) -> LocalModel:
    return LocalModel(engine, ChatML(engine.info()), 's', tools, [], GenerationLimits())


def test_a_grammar_that_blows_up_is_a_config_error_with_the_tool(engine: LocalEngine) -> None:
    fine = _schema('fine', {'type': 'string'})
    wrong = _schema('wrong', {'type': 'number', 'minimum': -1e300, 'maximum': 1.2345678901e300})
    with pytest.raises(ConfigError, match=r'^tools\.wrong: .*grammar') as error:
        _model(engine, [fine, wrong])
    assert len(str(error.value)) < 500
    words = [f'{i}' + 'x' * 60 for i in range(256)]
    start = time.monotonic()
    with pytest.raises(ConfigError, match='context_tokens'):
        _model(engine, [_schema(f't{i}', {'type': 'string', 'enum': words}) for i in range(20)])
    assert time.monotonic() - start < 5.0


@pytest.mark.parametrize('key, value, reason', [
    ('description', 'x' * 1025, 'description: has 1025 characters'),
    ('arguments', {'a': {'type': 'string', 'description': 'x' * 1025}}, 'longer than 1024'),
    ('arguments', {'a': {'description': 'd', 'enum': ['y' * 129]}}, 'longer than 128'),
    ('arguments', {f'a{k}': {'description': 'd', 'enum': [f'{i}' + 'y' * 40 for i in range(256)]}
                   for k in range(4)}, 'schema of its arguments'),
])
def test_tools_that_are_too_large_are_refused(tmp_path: Path, key: str, value: object,
                                              reason: str) -> None:
    tree = yaml.safe_load(TOOL)
    tree['tools']['look'][key] = value
    with pytest.raises(ConfigError, match=reason) as error:
        load_tools([_file(tmp_path, yaml.safe_dump(tree))]).check_bounds()
    assert 'tools.yaml: tools.look' in str(error.value)


def test_names_of_readings_are_there_once(tmp_path: Path) -> None:
    path = _file(tmp_path, TOOL)
    other = tmp_path / 'other.yaml'
    other.write_text(TOOL.replace('look:', 'gaze:'))
    with pytest.raises(ConfigError, match='context_from.battery: .*tools.yaml has one'):
        load_tools([path, str(other)])


@pytest.mark.lint
def test_the_schema_for_editors_is_current() -> None:
    assert tool_file_schema.PATH.read_text() == tool_file_schema.schema_text(), (
        'call scripts/run python scripts/tool_file_schema.py')


READY = sorted(p for p in (ROOT / 'config' / 'tools').glob('*.yaml') if p.name != 'places.yaml')


@pytest.mark.parametrize('path', READY, ids=lambda path: path.stem)
def test_ready_files_are_valid_and_say_how_they_were_tried(path: Path) -> None:
    assert load_tools([str(path)]).tools
    head = path.read_text().split('version:')[0]
    assert '$schema=../tool_file.schema.json' in head and 'ried' in head


def test_ready_files_go_together() -> None:
    together = [str(path) for path in READY if path.stem != 'turtlesim']
    assert len(together) == 4
    assert len(load_tools(together).tools) == sum(len(load_tools([p]).tools) for p in together)


@pytest.mark.lint
def test_every_key_is_documented() -> None:
    schema = json.loads(tool_file_schema.schema_text())
    keys = {key for part in (schema, *schema['$defs'].values()) for key in part['properties']}
    text = (ROOT / 'doc' / 'tools.rst').read_text()
    assert len(keys) > 40
    missing = {key for key in keys if f'``{key}``' not in text and f'{key}:' not in text}
    assert not missing
