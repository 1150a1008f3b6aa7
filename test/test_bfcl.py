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

"""BFCL files are read, converted and scored; the items here are made up in their format."""

import json
from pathlib import Path
import subprocess
import sys
from typing import Any

from edge_llm_ros.eval.bfcl import BfclItem, json_schema, read_items
from edge_llm_ros.eval.bfcl_check import why_turn_wrong, why_wrong
from edge_llm_ros.eval.bfcl_run import _run_turns
from edge_llm_ros.eval.bfcl_turns import BfclTurns, read_bfcl
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolCall
import pytest
from test_agent import DONE, Script

BOIL = {'name': 'kettle.boil', 'description': 'Boil water.', 'parameters': {
    'type': 'dict', 'required': ['litres'], 'properties': {
        'litres': {'type': 'float', 'description': 'How much'},
        'room': {'type': 'string', 'description': 'Where'},
        'cups': {'type': 'array', 'items': {'type': 'integer'}},
        'options': {'type': 'dict', 'properties': {'lid': {'type': 'boolean'},
                                                   'note': {'type': 'string'}}}}}}
MAIL = {'name': 'mail', 'description': 'Deliver a letter.', 'parameters': {
    'type': 'dict', 'required': ['to'], 'properties': {'to': {'type': 'string'}}}}
TRUTH = {'kettle.boil': {'litres': [1.5], 'room': ['Tea room', ''], 'cups': [[2, 3], ''],
                         'options': [{'lid': [True], 'note': ['Be quick', '']}, '']}}


def files(folder: Path, **lines: list[tuple[str, list[Any], list[Any]]]) -> Path:
    """Write files of items: text, functions and answers by category."""
    (folder / 'possible_answer').mkdir()
    for category, items in lines.items():
        name = f'BFCL_v4_{category}.json'
        (folder / name).write_text('\n'.join(json.dumps(
            {'id': f'{category}_{i}', 'question': [[{'role': 'user', 'content': text}]],
             'function': functions}) for i, (text, functions, _) in enumerate(items)) + '\n')
        (folder / 'possible_answer' / name).write_text('\n'.join(json.dumps(
            {'id': f'{category}_{i}', 'ground_truth': truth})
            for i, (_, _, truth) in enumerate(items)) + '\n')
    return folder


def boil(**arguments: Any) -> ToolCall:
    return ToolCall('kettle.boil', arguments)


@pytest.fixture
def items(tmp_path: Path) -> dict[str, BfclItem]:
    folder = files(
        tmp_path, simple_python=[('Boil 1.5 l.', [BOIL], [TRUTH])],
        multiple=[('Boil 1.5 l.', [MAIL, BOIL], [TRUTH])],
        parallel=[('A letter to Ann, a letter to Bo.', [MAIL],
                   [{'mail': {'to': ['Ann']}}, {'mail': {'to': ['Bo', 'Bo Li']}}])],
        irrelevance=[('Sing a song.', [BOIL], [])])
    return {item.category: item for item in read_items(folder)}


def test_items_are_read_and_their_types_are_those_of_json_schema(items: dict[str, BfclItem]
                                                                 ) -> None:
    assert set(items) == {'simple', 'multiple', 'parallel', 'irrelevance'}
    tool, = items['simple'].schemas()
    properties = tool.parameters['properties']
    assert tool.name == 'kettle.boil' and tool.parameters['required'] == ['litres']
    assert properties['litres'] == {'type': 'number', 'description': 'How much'}
    assert properties['cups'] == {'type': 'array', 'items': {'type': 'integer'}}
    assert properties['options']['properties']['lid'] == {'type': 'boolean'}
    assert json_schema({'type': 'any'}) == {} and json_schema({'type': 'tuple', 'items': {
        'type': 'float'}}) == {'type': 'array', 'items': {'type': 'number'}}
    assert items['irrelevance'].answers == ()


@pytest.mark.parametrize('arguments, right', [
    ({'litres': 1.5}, True), ({'litres': 1.5, 'room': 'tea-room'}, True), ({'litres': 2}, False),
    ({'litres': '1.5'}, False), ({}, False), ({'litres': 1.5, 'room': 'office'}, False),
    ({'litres': 1.5, 'cups': [2, 3]}, True), ({'litres': 1.5, 'cups': [3, 2]}, False),
    ({'litres': 1.5, 'cups': ['2', '3']}, False), ({'litres': 1.5, 'speed': 1}, False),
    ({'litres': 1.5, 'options': {'lid': True}}, True),
    ({'litres': 1.5, 'options': {'lid': True, 'note': 'be quick'}}, True),
    ({'litres': 1.5, 'options': {'note': 'be quick'}}, False),
    ({'litres': 1.5, 'options': {'lid': False}}, False)])
def test_arguments(items: dict[str, BfclItem], arguments: dict[str, Any], right: bool) -> None:
    assert (why_wrong(items['simple'], [boil(**arguments)]) == '') is right
    assert (why_wrong(items['multiple'], [boil(**arguments)]) == '') is right


def test_a_whole_number_is_a_float_and_true_is_no_number(items: dict[str, BfclItem]) -> None:
    item = BfclItem('x', 'simple', '', {'kettle.boil': BOIL}, (
        ('kettle.boil', {'litres': [2.0]}),))
    assert not why_wrong(item, [boil(litres=2)])
    assert why_wrong(item, [boil(litres=True)])
    # The name of a variable where the file allows one.
    named = BfclItem('x', 'simple', '', {'kettle.boil': BOIL}, (
        ('kettle.boil', {'litres': ['amount']}),))
    assert not why_wrong(named, [boil(litres='amount')])
    assert why_wrong(named, [boil(litres='Amount')]) and why_wrong(named, [boil(litres=1.0)])


def test_how_many_calls_there_have_to_be(items: dict[str, BfclItem]) -> None:
    right = boil(litres=1.5)
    assert why_wrong(items['simple'], []) and why_wrong(items['simple'], [right, right])
    assert 'mail was called' in why_wrong(items['multiple'], [ToolCall('mail', {'to': 'Ann'})])
    ann, bo = ToolCall('mail', {'to': 'Ann'}), ToolCall('mail', {'to': 'bo li'})
    assert not why_wrong(items['parallel'], [ann, bo])
    assert not why_wrong(items['parallel'], [bo, ann])
    assert why_wrong(items['parallel'], [ann, ann]) and why_wrong(items['parallel'], [ann])
    assert not why_wrong(items['irrelevance'], []) and why_wrong(items['irrelevance'], [right])


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='no file like'):
        read_bfcl(tmp_path)
    files(tmp_path, multiple=[('Boil.', [BOIL], [TRUTH])])
    answers = tmp_path / 'possible_answer' / 'BFCL_v4_multiple.json'
    answers.write_text('')
    with pytest.raises(ConfigError, match='multiple_0 has no possible answer'):
        list(read_items(tmp_path))
    answers.write_text('{"id": 1}')
    with pytest.raises(ConfigError, match=r'json:1: is no such item'):
        list(read_items(tmp_path))


def test_a_model_answers_items_through_the_grammar(test_model: str, items: dict[str, BfclItem],
                                                   tmp_path: Path) -> None:
    command = [sys.executable, '-m', 'edge_llm_ros.cli.main', 'eval', '--bfcl', str(tmp_path),
               '--model', test_model, '--out', str(tmp_path / 'out'), '--limit', '2']
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / 'out' / 'bfcl.json').read_text())
    assert [case['id'] for case in report['cases']] == ['irrelevance_0', 'multiple_0']
    assert report['success_by'][-1]['n'] == 2
    again = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert again.returncode == 0 and 'multiple' not in again.stdout


CAR = """
class VehicleControlAPI:
    def _load_scenario(self, scenario, long_context=False):
        self.doors = scenario.get('doors', {'left': 'open'})
        self._secret = 1

    def lock(self, door):
        if door not in self.doors:
            return {'error': 'no such door'}
        self.doors[door] = 'locked'
        return {'door': door}

    def look(self):
        return {'doors': self.doors}

    def _hidden(self):
        return {}
"""
LOCK = {'name': 'lock', 'parameters': {'type': 'dict', 'required': ['door'], 'properties': {
    'door': {'type': 'string', 'description': 'Which. [Enum]: ["left", "right"]'}}},
    'description': 'This tool belongs to the car. Tool description: Lock a door.'}
LOOK = {'name': 'look', 'description': 'Look.', 'parameters': {'type': 'dict', 'properties': {}}}


@pytest.fixture
def turns(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder of data inside a package, as the leaderboard has it."""
    # A name of its own: what was imported once stays.
    package = tmp_path / f'package_{tmp_path.name.replace("-", "_")}'
    source = package / 'eval_checker' / 'multi_turn_eval' / 'func_source_code'
    source.mkdir(parents=True)
    (source / 'vehicle_control.py').write_text(CAR)
    data = package / 'data'
    (data / 'possible_answer').mkdir(parents=True)
    (data / 'multi_turn_func_doc').mkdir()
    (data / 'multi_turn_func_doc' / 'vehicle_control.json').write_text(
        f'{json.dumps(LOCK)}\n{json.dumps(LOOK)}\n')
    item = {'id': 'turns_0', 'involved_classes': ['VehicleControlAPI'],
            'initial_config': {'VehicleControlAPI': {'doors': {'left': 'open', 'right': 'open'}}},
            'question': [[{'role': 'user', 'content': 'Lock it.'}],
                         [{'role': 'user', 'content': 'And now?'}]]}
    other = {**item, 'id': 'turns_1', 'involved_classes': ['TradingBot']}
    (data / 'BFCL_v4_multi_turn_base.json').write_text(
        f'{json.dumps(item)}\n{json.dumps(other)}\n')
    (data / 'possible_answer' / 'BFCL_v4_multi_turn_base.json').write_text(json.dumps(
        {'id': 'turns_0', 'ground_truth': [["lock('left')"], ['look()']]}))
    return data


def test_turns_are_read_with_their_functions(turns: Path) -> None:
    item, = read_bfcl(turns)
    assert isinstance(item, BfclTurns) and item.texts == ('Lock it.', 'And now?')
    lock, look = item.schemas()
    assert (lock.description, look.name) == ('Lock a door.', 'look')
    assert lock.parameters['properties']['door']['enum'] == ['left', 'right']
    assert json_schema({'type': 'array', 'items': {'type': 'string'},
                        'description': '[Enum]: ["a", "b"]'})['items'] == {
        'type': 'string', 'enum': ['a', 'b']}


def test_a_world_answers_as_the_leaderboard_s(turns: Path) -> None:
    item, = read_bfcl(turns)
    assert isinstance(item, BfclTurns)
    world = item.world()
    assert world.call('lock', door='left') == ('{"door": "left"}', True)
    assert world.call('lock', door='roof') == ('{"error": "no such door"}', False)
    for name, arguments in (('lock', {'gate': 1}), ('_hidden', {}), ('fly', {})):
        text, worked = world.call(name, **arguments)
        assert text.startswith('Error during execution: ') and not worked
    assert world.state() == {'VehicleControlAPI': {'doors': {'left': 'locked', 'right': 'open'}}}
    assert item.world().state() != world.state()
    for text in ('lock(open("x"))', 'import os', 'lock.__class__()', '1'):
        with pytest.raises(ConfigError, match='is not a call with plain values'):
            world.call_written(text)


def test_a_turn_is_right_by_its_state_and_by_what_was_told(turns: Path) -> None:
    item, = read_bfcl(turns)
    assert isinstance(item, BfclTurns)
    model, truth = item.world(), item.world()
    due = [truth.call_written("lock('left')")]
    assert 'VehicleControlAPI.doors is' in why_turn_wrong(model, truth, [], due)
    told = [model.call('lock', door='left')[0]]
    assert why_turn_wrong(model, truth, told, due) == ''
    assert why_turn_wrong(model, truth, ['{}'], due) == 'no call told {"door": "left"}'
    model.call('look')
    assert why_turn_wrong(model, truth, told, []) == ''
    assert why_turn_wrong(model, truth, told, due * 2)


@pytest.mark.parametrize('calls, reason', [
    (['lock left', 'end', 'look', 'end'], ''),
    (['lock right', 'lock left', 'end', 'look', 'end'], 'turn 1: VehicleControlAPI.doors is'),
    (['end', 'lock left', 'look', 'end'], 'turn 1: nothing was called'),
    (['lock left', 'look', 'end', 'end'], 'turn 2: nothing was called'),
    (['lock left', 'end', 'lock roof', 'end'], 'turn 2: no call told {"doors"'),
    (['lock roof', 'lock left', 'end', 'look', 'end'], ''),
])
def test_turns_are_judged_one_after_the_other(turns: Path, calls: list[str], reason: str) -> None:
    item, = read_bfcl(turns)
    assert isinstance(item, BfclTurns)
    made = [DONE if call == 'end' else ToolCall('look') if call == 'look' else
            ToolCall('lock', {'door': call.split()[1]}) for call in calls]
    found, kept = _run_turns(item, Script(made), item.schemas())
    assert found.startswith(reason) and bool(found) is bool(reason), found
    assert len(kept) <= len(calls) - 1


def test_an_argument_may_have_any_name(turns: Path) -> None:
    item, = read_bfcl(turns)
    assert isinstance(item, BfclTurns)
    assert not item.world().call('look', name='x', positional=1)[1]


def test_what_is_missing_of_turns_is_named(turns: Path) -> None:
    item, = read_bfcl(turns)
    assert isinstance(item, BfclTurns)
    (turns.parent / 'eval_checker' / 'multi_turn_eval' / 'func_source_code' /
     'vehicle_control.py').unlink()
    with pytest.raises(ConfigError, match='vehicle_control.py is missing'):
        item.world()
    (turns / 'possible_answer' / 'BFCL_v4_multi_turn_base.json').write_text('')
    with pytest.raises(ConfigError, match='turns_0 has no possible answer for each turn'):
        read_bfcl(turns)


def test_a_model_answers_turns_through_the_grammar(test_model: str, turns: Path, tmp_path: Path
                                                   ) -> None:
    done = subprocess.run(
        [sys.executable, '-m', 'edge_llm_ros.cli.main', 'eval', '--bfcl', str(turns), '--model',
         test_model, '--out', str(tmp_path / 'out')], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    case, = json.loads((tmp_path / 'out' / 'bfcl.json').read_text())['cases']
    assert case['category'] == 'multi_turn_base' and case['id'] == 'turns_0'
