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


"""What a robot was told to remember is found again, never more than it may keep."""

from pathlib import Path

from edge_llm_ros.eval.instant_robot import InstantRobot
from edge_llm_ros.eval.instant_tools import instant_toolset
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import Observation, Status, ToolCall
from edge_llm_ros.program.stubs import functions, stub
from edge_llm_ros.sim.world import World
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.notes import Notes
from hypothesis import given, settings, strategies as st
import pytest

SUBJECTS = ['the meeting point', 'Anna', "Anna's cup", '充电的地方', '钥匙', 'Where to wait', 'x']
WRITTEN = st.lists(st.tuples(st.sampled_from(SUBJECTS), st.text(
    st.characters(codec='utf-8', exclude_categories=['Cs']), min_size=1, max_size=20)),
    max_size=30)


def _toolset(most: int):
    return instant_toolset(
        LoadedTools({}, Builtins(notes=most), {}), InstantRobot(World()))


def _call(toolset, name: str, dry_run: bool = False, **arguments: object) -> Observation:
    return toolset.call(ToolCall(name, arguments), Cancellation(), allowed=None, dry_run=dry_run,
                        on_progress=lambda _: None)


@settings(max_examples=60, deadline=None)
@given(WRITTEN, st.integers(1, 5))
def test_the_latest_of_each_subject_are_kept(
        tmp_path_factory: pytest.TempPathFactory, written: list, most: int) -> None:
    path = tmp_path_factory.mktemp('notes') / 'notes.json'
    notes = Notes(most, path)
    kept: dict[str, str] = {}
    for about, text in written:
        notes.remember(about, text)
        kept.pop(about, None)
        kept[about] = text
        kept = dict(list(kept.items())[-most:])
        assert len(notes) == len(kept)
        assert notes.recall(about) == text
    notes.close()
    again = Notes(most, path)
    assert {about: again.recall(about) for about in kept} == kept
    again.close()


def _notes(**texts: str) -> Notes:
    notes = Notes(50)
    for about, text in texts.items():
        notes.remember(about.replace('_', ' '), text)
    return notes


def test_like_notes_are_told_with_their_subjects() -> None:
    notes = _notes(meeting_point='the lobby', cup_of_Anna='blue', cup_of_Ben='red',
                   充电的地方='储藏室', Cleo='the zebra room')
    assert notes.recall('Meeting  POINT') == 'the lobby'
    assert notes.recall('where is the meeting?') == 'meeting point: the lobby'
    assert set(str(notes.recall('the cup')).split('\n')) == {
        'cup of Anna: blue', 'cup of Ben: red'}
    assert notes.recall('the lobby') == 'meeting point: the lobby'
    assert notes.recall('在哪里充电') == '充电的地方: 储藏室'
    assert notes.recall('the zebra') == 'Cleo: the zebra room'


def test_what_shares_only_empty_words_is_not_told() -> None:
    notes = _notes(the_meeting_point='the lobby', 我的杯子='蓝色的')
    for about in ('the door', 'what is it?', '我的钥匙在哪里？', 'zebra', '?'):
        assert notes.recall(about) is None


def test_numbers_tell_notes_apart_and_the_latest_goes_first() -> None:
    notes = _notes(**{f'what_is_on_shelf_{n}': f'box {n * 11}' for n in range(1, 8)})
    assert str(notes.recall('shelf 5')).startswith('what is on shelf 5: box 55')
    same = _notes(door_of_Anna='jammed', door_of_Ben='open', door_of_Cleo='shut', door_of_Dan='?')
    assert same.recall('any door') == (
        'door of Dan: ?\ndoor of Cleo: shut\ndoor of Ben: open')


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'notes.json'
    for text in ('{"notes": [{"about": "", "text": "x"}]}', '[1', '{"notes": 3}'):
        path.write_text(text)
        with pytest.raises(ConfigError, match='notes_file: .*notes.json cannot be read: .*Mend'):
            Notes(4, path)
    with pytest.raises(ConfigError, match='notes_file: .*(cannot be read|cannot be written)'):
        Notes(4, path / 'below' / 'a file')


def test_notes_beyond_their_number_go_only_when_one_is_added(tmp_path: Path) -> None:
    path = tmp_path / 'notes.json'
    many = Notes(3, path)
    for about in ('a', 'b', 'c'):
        many.remember(about, about)
    many.close()
    few = Notes(1, path)
    assert (len(few), few.recall('a')) == (3, 'a')
    few.close()
    again = Notes(3, path)
    assert len(again) == 3
    again.close()
    few = Notes(1, path)
    few.remember('d', 'd')
    assert (len(few), few.recall('d'), few.recall('c')) == (1, 'd', None)


def test_one_planner_at_a_time_has_a_file(tmp_path: Path) -> None:
    path = tmp_path / 'notes.json'
    first = Notes(3, path)
    with pytest.raises(ConfigError, match='notes_file: .*another planner keeps its notes there'):
        Notes(3, path)
    first.close()
    Notes(3, path).close()


def test_what_cannot_be_written_down_is_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / 'folder'
    notes = Notes(3, folder / 'notes.json')
    (folder / 'notes.lock').unlink()
    folder.rmdir()
    with pytest.raises(OSError):
        notes.remember('a', 'b')
    assert notes.recall('a') is None


def test_the_tools_are_there_where_a_file_says_so() -> None:
    assert not {'remember', 'recall'} & {s.name for s in builtin_schemas(Builtins())}
    toolset = _toolset(2)
    assert {'remember', 'recall'} <= {schema.name for schema in toolset.schemas()}
    assert [stub(f) for f in functions(toolset.schemas()) if f.name in ('remember', 'recall')]
    assert _call(toolset, 'recall', about='the door').text == '{"note": null}'
    assert _call(toolset, 'remember', about='the door', text='is jammed').worked
    assert _call(toolset, 'recall', about='The door').text == '{"note": "is jammed"}'


def test_a_dry_run_keeps_nothing() -> None:
    toolset = _toolset(2)
    done = _call(toolset, 'remember', dry_run=True, about='the door', text='is jammed')
    assert done.status is Status.DRY_RUN
    assert _call(toolset, 'recall', about='the door').text == '{"note": null}'


@pytest.mark.parametrize('arguments', [
    {}, {'about': 'a'}, {'about': '', 'text': 'x'}, {'about': ' ', 'text': 'x'},
    {'about': 'a' * 41, 'text': 'x'}, {'about': 'a', 'text': 'x' * 161},
    {'about': 3, 'text': 'x'}, {'about': 'a', 'text': 'x', 'more': 1}])
def test_arguments_outside_the_schema_are_refused(arguments: dict) -> None:
    assert _call(_toolset(2), 'remember', **arguments).status is Status.REFUSED


def test_without_notes_the_tools_cannot_be_called() -> None:
    toolset = instant_toolset(LoadedTools({}, Builtins(), {}), InstantRobot(World()))
    assert _call(toolset, 'recall', about='x').status is Status.REFUSED
