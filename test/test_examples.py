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

"""The static examples must not be the answers to what is measured."""

import inspect
from pathlib import Path
import re

from edge_llm_ros.cli import demo
from edge_llm_ros.program.program import Program
from edge_llm_ros.program.stubs import functions
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
import pytest

CONFIG = Path(__file__).resolve().parent.parent / 'config'
PROMPTS = [str(CONFIG / name) for name in ('prompt.yaml', 'prompt_many_examples.yaml')]
EXAMPLES = [e for path in PROMPTS for e in read_file(path, PromptFile).examples]
OF_PROGRAMS = read_file(str(CONFIG / 'prompt_programs.yaml'), PromptFile)
PROGRAMS, FOLLOW_UPS = OF_PROGRAMS.programs, OF_PROGRAMS.follow_ups
EXAMPLE_GOALS = [*(e.instruction for e in EXAMPLES), *(p.goal for p in (*PROGRAMS, *FOLLOW_UPS)),
                 *(earlier.goal for p in FOLLOW_UPS for earlier in p.before)]
PLACES = {
    'kitchen': 'kitchen|厨房', 'dock': 'dock|充电座|充电桩', 'office': 'office|办公室',
    'lab': r'\blab\b|实验室', 'hallway': 'hallway|走廊', 'storage': 'storage|储藏室|仓库',
    'entrance': 'entrance|入口', 'meeting_room': 'meeting.room|会议室',
    'workshop': 'workshop|车间', 'library': 'library|图书馆', 'garage': 'garage|车库',
    'cafeteria': 'cafeteria|食堂', 'gym': r'\bgym\b|健身房', 'reception': 'reception|前台'
}
# Words of one meaning count as one verb.
VERBS = {
    'go': r'\bgo\b|drive|come back|return|bring|wait at|visit\b|head (for|over)|roll|move|carry|'
          r'\btake\b|fetch|shuttle|pass|stop in|去|回|(?<!听)到|驶|开往|送|搬|往返|经过',
    'tell': 'tell|say|know|announce|wish|greet|ask|hear|scream|告诉|说|宣布|祝|请|听到|问好|打招呼|喊',
    'close': 'close|shut|关|合', 'open': r'\bopen\b|打开|松开|张开',
    'put': r'\bput\b|lay|set it down|放|搁',
    'measure': 'measure|warm|temperature|degrees|cold|量|测|度|暖|冷',
    'grasp': 'pick|grab|grasp|拿|抓|取', 'light': 'light|lamp|灯'
}


def pairs(text: str) -> set[tuple[str, str]]:
    """Return every verb and place that stand in one clause."""
    found = set()
    for clause in re.split(r'[,.;，。；]| and ', text.lower()):
        for verb, words in VERBS.items():
            for place, names in PLACES.items():
                if re.search(words, clause) and re.search(names, clause):
                    found.add((verb, place))
    return found


def runs(text: str) -> set[tuple[str, ...]]:
    """Return every five words in a row; a Chinese character is a word."""
    words = re.findall(r'[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+', text.lower())
    return {tuple(words[i:i + 5]) for i in range(len(words) - 4)}


def test_no_example_shares_a_pair_or_five_words_with_a_demo_goal() -> None:
    goals = [g.instruction for g in demo.GOALS]
    assert pairs(goals[0]) == {('go', 'kitchen'), ('go', 'dock')}
    assert pairs(goals[3]) == {('tell', 'lab')} and pairs(goals[4]) == {('go', 'office')}
    for goal in goals:
        for example in EXAMPLE_GOALS:
            assert not pairs(goal) & pairs(example), (goal, example)
            assert not runs(goal) & runs(example), (goal, example)


def test_examples_are_checked_against_the_tools(tmp_path: Path) -> None:
    from edge_llm_ros.flow.errors import ConfigError
    loaded = load_tools([str(CONFIG / 'simulated_robot.yaml')])
    schemas = loaded.schemas()
    for prompt in PROMPTS:
        assert read_file(prompt, PromptFile).for_tools(prompt, schemas)
    text = Path(PROMPTS[0]).read_text()
    for old, new, reason in (
            ('call: put_down', 'call: throw', "no tool 'throw'"),
            ('{place: storage}', '{place: attic}', "'attic'"),
            ('{place: storage}', '{}', "'place' of move_to is missing"),
            (', observation: {object: parcel}', '', 'needs an observation')):
        assert old in text
        path = tmp_path / 'prompt.yaml'
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ConfigError, match=reason):
            read_file(str(path), PromptFile).for_tools(str(path), schemas)


def test_programs_that_are_examples_can_be_run() -> None:
    schemas = functions(load_tools([str(CONFIG / 'simulated_robot.yaml')]).schemas())
    assert len(PROGRAMS) > 100
    for example in PROGRAMS:
        for text in example.texts():
            Program.parse(text, schemas)
        # What the model is shown of a judgement is what its grammar then allows.
        endings = {'fine': ('done', 'failed', 'ask'), 'unclear': ('ask',),
                   'impossible': ('refuse',), 'harmful': ('refuse',)}[example.judgement]
        assert any(f'{ending}(' in example.program for ending in endings), example.goal
        if example.judgement != 'fine':
            assert example.program.startswith(f'{endings[0]}('), example.goal


def test_examples_write_arguments_in_the_order_of_the_tool() -> None:
    """The grammar has one order; an example in another would mislead."""
    for finish, order in ((True, ['success', 'summary']),
                          ('summary_first', ['summary', 'success'])):
        schemas = builtin_schemas(Builtins(finish=finish))
        prompt = PromptFile(version=1, system='s', examples=[{'instruction': 'i', 'steps': [
            {'call': 'finish', 'arguments': {'summary': 's', 'success': True}}]}])
        (call, _), = prompt.for_tools('p', schemas)[0].steps
        assert list(call.arguments) == order
        assert list(schemas[-1].parameters['properties']) == schemas[-1].parameters[
            'required'] == order


def test_no_demo_goal_is_in_the_code_that_plans() -> None:
    """Nothing but the demo knows the demo's goals."""
    for path in CONFIG.parent.glob('edge_llm_ros/**/*.py'):
        if path != Path(inspect.getfile(demo)).resolve():
            for goal in demo.GOALS:
                assert goal.instruction not in path.read_text()
