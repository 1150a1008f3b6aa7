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

"""What can be seen of a program that does not fit its goal, without running it."""

from edge_llm_ros.program.doubts import doubts, Draft
from edge_llm_ros.program.stubs import called_tools, told_tools
from edge_llm_ros.program.syntax import parts
from edge_llm_ros.prompt.words import Words
import pytest

LOOK = 't = get_temperature()\n'
IF = 'if t > 20:\n    say("Hot.")\n    done(f"It is {t}.")\nelse:\n    done("No.")\n'


def found(goal: str, program: str, rest: bool = False) -> list[str]:
    whole = bool(called_tools(program)) and not rest
    return doubts(Draft(goal, program, parts(program), Words(), whole))


@pytest.mark.parametrize('goal, program, expected', [
    ('Say hello.', 'say("Hello.")\ndone("I said hello.")\n', []),
    ('Say hello.', 'done("我说了。")\n', ['other_language']),
    ('说你好。', 'say("你好。")\ndone("I said hello.")\n', ['other_language']),
    ('说你好。', 'say("你好。")\ndone("我说了。")\n', []),
    ('几度？', LOOK + 'done(f"{t}")\n', []),
    ('If it has more than 20 degrees, say "Hot".', LOOK + IF, []),
    ('If it has more than 25 degrees, say "Hot".', LOOK + IF, ['lost_number']),
    ('If it has more than 20 degrees, say "Too hot".', LOOK + IF, ['lost_quotation']),
    ('超过20度就说“太热了”。', LOOK + IF.replace('Hot.', '太热了。').replace('No', '没有')
     .replace('It is', '现在'), []),
    ('Drive to the lab unless it is cold.', 'move_to("lab")\ndone("I am there.")\n',
     ['lost_condition']),
    ('What do you do if it burns?', 'done("I would call for help.")\n', []),
    ('How warm is it?', LOOK + 'done("It is warm.")\n', ['unused_value']),
    ('Blink three times.', 'for i in range(3):\n    blink()\ndone("Done.")\n', []),
    ('I did not hear you. Once more!', 'say("I did not hear you. Once more!")\ndone("Ok.")\n',
     ['echo']),
    ('Lab.', 'move_to("lab")\ndone("I am there.")\n', []),
    ('Say "你好" to them.', 'say("你好")\ndone("I said it.")\n', []),
    ('Say "Ask me if you can".', 'say("Ask me if you can.")\ndone("I said it.")\n', []),
    ('超过２０度就开灯。', LOOK + 'if t > 20:\n    light("on")\ndone("好。")\n', []),
    ('Say good night.', 'say("Good night.")\ndone("I said good night.")\n', []),
    ('Announce the winner.', 'say("The winner is [name].")\ndone("I did.")\n', ['placeholder']),
    ('Say "and so on...".', 'say("And so on...")\ndone("I did.")\n', [])])
def test_what_speaks_against_a_program(goal: str, program: str, expected: list[str]) -> None:
    assert found(goal, program) == expected


def test_the_rest_of_a_program_is_not_all_of_it() -> None:
    goal, rest = 'If it has 20 degrees, say "Hot". Then to the lab.', (
        'move_to("lab")\ndone("I am there.")\n')
    assert found(goal, rest) == ['lost_number', 'lost_quotation', 'lost_condition']
    assert found(goal, rest, rest=True) == []


def test_a_text_of_the_prompt_file_must_be_one_that_can_be_filled_in() -> None:
    with pytest.raises(ValueError, match=r'before: only \{goal\}, \{did\} can be filled in'):
        Words(before='(Before: {what})')
    assert Words().earlier('Say "a".', 'say("a")') == '(Before: "Say \\"a\\"." say("a"))'


def test_the_tools_of_what_was_done_are_found() -> None:
    assert told_tools('go("a; fly(b)"); battery() was 80; ask("Which \\"go(x)\\"?")') == {
        'go', 'battery'}
