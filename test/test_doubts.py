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

import ast

from edge_llm_ros.program.doubts import doubts, Draft
from edge_llm_ros.program.language import ENDINGS
from edge_llm_ros.program.syntax import called, parsed
from edge_llm_ros.prompt.words import Words
import pytest

LOOK = 't = get_temperature()\n'
IF = 'if t > 20:\n    say("Hot.")\n    done(f"It is {t}.")\nelse:\n    done("No.")\n'


def found(goal: str, program: str) -> list[str]:
    nodes = [node for statement in parsed(program) for node in ast.walk(statement)]
    calls = [n for n in nodes if called(n) and called(n) not in {*ENDINGS, 'range', 'abs', 'max'}]
    return doubts(Draft(goal, program, nodes, calls, Words()))


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
    ('Say good night.', 'say("Good night.")\ndone("I said good night.")\n', []),
    ('Announce the winner.', 'say("The winner is [name].")\ndone("I did.")\n', ['placeholder']),
    ('Say "and so on...".', 'say("And so on...")\ndone("I did.")\n', [])])
def test_what_speaks_against_a_program(goal: str, program: str, expected: list[str]) -> None:
    assert found(goal, program) == expected
