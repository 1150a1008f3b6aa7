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

"""The missions can be reached, cannot be reached by doing nothing, and are not given away."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
import re

from edge_llm_ros.cli import demo
from edge_llm_ros.eval.judge import judge, Verdict
from edge_llm_ros.eval.mission import all_cases, Case, KINDS, mission_files, SPLITS, WORLDS
from edge_llm_ros.eval.rehearsal import rehearse
from edge_llm_ros.eval.tool_sets import parsed, tool_sets, write_prompt, write_tools
from edge_llm_ros.eval.written_call import act_of, read_call, why_invalid
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.tools.builtins import builtin_schemas
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.schema import tool_schema
from edge_llm_ros.tools.strict_yaml import read_yaml
from edge_llm_ros.tools.tool_file import ToolFile
import pytest
from test_examples import CONFIG, EXAMPLE_GOALS, EXAMPLES, FOLLOW_UPS, pairs, PROMPTS, runs

SETS = tool_sets()
TOOLS: Mapping[str, ToolFile] = {
    name: parsed(SETS.tool_file(name, CONFIG / 'simulated_robot.yaml')) for name in SETS.sets}
CASES = list(all_cases(SETS.places))
# Kinds whose right answer is to do nothing; a wrong plan of theirs is given, and must be one.
NOTHING = ('no_call', 'missing_information', 'refusal')


def verdicts(case: Case, plans: list[tuple[str, ...]] | None = None) -> list[Verdict]:
    """Judge plans by the reference of the same case; without plans, the reference itself."""
    tools = TOOLS[case.tools].tools
    reference = rehearse(case, tools)
    ends = reference if plans is None else rehearse(case, tools, plans)
    return [judge(goal.expect, right.events, end)
            for goal, right, end in zip(case.goals, reference, ends)]


def test_there_are_enough_missions_and_they_are_balanced() -> None:
    counts = Counter((split, kind) for split, kind, file in mission_files()
                     for _ in file.missions)
    assert set(counts) == {(split, kind) for split in SPLITS for kind in KINDS}
    assert len({n for (split, _), n in counts.items() if split != 'wording'}) == 1
    for split in SPLITS:
        assert sum(n for (s, _), n in counts.items() if s == split) >= 90
    assert len({case.key for case in CASES}) == len(CASES) == 2 * WORLDS * sum(counts.values())
    texts = Counter(goal.text for case in CASES if case.world == 1 for goal in case.goals)
    assert not [text for text, n in texts.items() if n > 1]


@pytest.mark.parametrize('kind', KINDS)
def test_every_mission_can_be_reached_within_its_budget(kind: str) -> None:
    for case in (c for c in CASES if c.kind == kind):
        found = verdicts(case)
        assert all(v.success and not v.false_claim for v in found), (case.key, found)
        for goal in case.goals:
            assert goal.optimum <= goal.budget, case.key
            for text in goal.solution:
                call = read_call(text, TOOLS[case.tools].tools)
                assert not why_invalid(call, TOOLS[case.tools]), (case.key, text)


@pytest.mark.parametrize('kind', KINDS)
def test_no_mission_is_reached_by_doing_nothing(kind: str) -> None:
    for case in (c for c in CASES if c.kind == kind):
        assert bool(case.offending) == (kind in NOTHING), case.key
        for i in range(len(case.goals)):
            plans = [goal.solution for goal in case.goals]
            plans[i] = case.offending or ('finish true Done.',)
            found = verdicts(case, plans)[i]
            assert not found.success, (case.key, i)
            assert case.offending or found.false_claim, (case.key, i)


def test_almost_every_act_of_a_reference_is_needed() -> None:
    """A predicate that does not notice that something was left out is a weak one."""
    needed = left_out = 0
    for case in (c for c in CASES if c.language == 'en'):
        tools = TOOLS[case.tools].tools
        for i, goal in enumerate(case.goals):
            for j, text in enumerate(goal.solution):
                if act_of(read_call(text, tools), tools) is None:
                    continue
                plans = [g.solution for g in case.goals]
                plans[i] = (*plans[i][:j], *plans[i][j + 1:])
                left_out += 1
                needed += not verdicts(case, plans)[i].success
    # The rest are first attempts that fail, and places where something is only looked for.
    assert left_out > 900 and needed > 0.97 * left_out


def test_the_right_answer_of_a_condition_depends_on_the_world() -> None:
    by_mission: dict[str, list[Case]] = {}
    for case in CASES:
        if case.kind == 'condition' and case.language == 'en':
            by_mission.setdefault(case.mission, []).append(case)
    assert len(by_mission) == 28
    for mission, worlds in by_mission.items():
        answers = [verdicts(worlds[i], [g.solution for g in worlds[j].goals])[0].success
                   for i in range(WORLDS) for j in range(WORLDS)]
        assert not all(answers), mission


def test_no_held_out_mission_is_given_away() -> None:
    known = [*EXAMPLE_GOALS, *(goal.instruction for goal in demo.GOALS)]
    assert ('go', 'office') in pairs('驶向办公室') and ('tell', 'lab') in pairs('在实验室里说你好')
    for case in (c for c in CASES if c.split == 'held_out' and c.world == 1):
        for goal in case.goals:
            for other in known:
                assert not pairs(goal.text) & pairs(other), (goal.text, other)
                assert not runs(goal.text) & runs(other), (goal.text, other)


def test_no_reading_of_an_example_is_one_of_a_mission() -> None:
    """A model that copies the reading of an example must not be right by chance."""
    told = {value for example in EXAMPLES for step in example.steps
            for value in (step.observation or {}).values() if isinstance(value, (int, float))
            and not isinstance(value, bool) and step.call.startswith('get_')}
    # Programs read values anew; those of the split "wording" came after the examples of calls.
    cases = [case for case in CASES if case.split != 'wording']
    there = {case.scene.battery for case in cases}.union(
        *(case.scene.temperatures.values() for case in cases))
    assert told and not told & there
    texts = [*EXAMPLE_GOALS, *(earlier.did for p in FOLLOW_UPS for earlier in p.before)]
    found = {float(value) for text in texts for value in re.findall(r'was ([\d.]+)', text)}
    assert found and not found & there


def test_no_held_out_mission_is_a_tuning_mission() -> None:
    texts = {split: [goal.text for case in CASES if case.split == split and case.world == 1
                     and case.language == 'en' for goal in case.goals] for split in SPLITS}
    tuning = set().union(*map(runs, texts['tuning']))
    shared = sum(bool(runs(text) & tuning) for text in texts['held_out'])
    assert shared <= 0.05 * len(texts['held_out'])


def test_texts_are_of_their_language_and_name_the_same_places() -> None:
    for case in (c for c in CASES if c.world == 1):
        for goal in case.goals:
            chinese = re.search(r'[\u4e00-\u9fff]', goal.text) is not None
            assert chinese == (case.language == 'zh'), goal.text


def test_tool_sets_have_their_tools_and_prompts_fit_them(tmp_path: Path) -> None:
    robot = load_tools([str(CONFIG / 'simulated_robot.yaml')]).tools
    assert [len(TOOLS[n].tools) for n in ('base', 'five', 'seventeen', 'forty')] == [12, 4, 14, 37]
    assert set(TOOLS['base'].tools) == set(robot)
    for name, tools in TOOLS.items():
        write_tools(SETS.tool_file(name, CONFIG / 'simulated_robot.yaml'), tmp_path / 'tools.yaml')
        loaded = load_tools([str(tmp_path / 'tools.yaml')])
        assert loaded.tools == tools.tools
        schemas = [*(tool_schema(n, t) for n, t in loaded.tools.items()),
                   *builtin_schemas(loaded.builtins)]
        path = str(tmp_path / 'prompt.yaml')
        for prompt in PROMPTS:
            write_prompt(Path(prompt), tools, tmp_path / 'prompt.yaml')
            assert read_file(path, PromptFile).for_tools(path, schemas)
    own = {'dock (座)': True, 'dock': False}
    for description, added in own.items():
        content = read_yaml(str(CONFIG / 'simulated_robot.yaml'))
        content['tools']['move_to']['arguments']['place'].update(
            description=description, enum=['dock'])
        write_tools(content, tmp_path / 'tools.yaml')
        place = SETS.tool_file('base', tmp_path / 'tools.yaml')['tools']['move_to']['arguments'][
            'place']
        assert ('workshop (车间)' in place['description']) is added and 'gym' in place['enum']
    with pytest.raises(ConfigError, match='no set'):
        SETS.tool_file('none', CONFIG / 'simulated_robot.yaml')
