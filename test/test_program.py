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

"""Programs: what the grammar lets a model write, and what comes of running it."""

from collections.abc import Callable
import random

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.errors import ConfigError, EngineError
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.program.language import Ending, ProgramError
from edge_llm_ros.program.program import Program
from edge_llm_ros.program.program_grammar import program_grammar
from edge_llm_ros.prompt.call_grammar import literal
from forced_tokens import follow
from hypothesis import given, settings, strategies as st
from llguidance import LLMatcher, LLTokenizer
import numpy as np
import pytest


def _tool(name: str, required: list[str] | None = None, **properties: dict) -> ToolSchema:
    return ToolSchema(name, 'd', {
        'type': 'object', 'properties': properties,
        'required': list(properties) if required is None else required})


TEXT, STATE = {'type': 'string', 'maxLength': 40}, {'type': 'string', 'enum': ['open', 'closed']}
POINT = {'type': 'object', 'properties': {'x': {'type': 'number'}, 'on': {'type': 'boolean'}},
         'required': ['x', 'on']}
TOOLS = (
    _tool('move_to', place={'type': 'string', 'enum': ['kitchen', 'office', 'room 7', 'é"']}),
    _tool('get_temperature'), _tool('get_battery'), _tool('pick_up'),
    _tool('set_gripper', state=STATE), _tool('say', text=TEXT),
    _tool('creep', speed={'type': 'number', 'minimum': -0.5, 'maximum': 0.5},
          steps={'type': 'integer', 'minimum': 1, 'maximum': 30}),
    _tool('tune', [], gain={'type': 'number'}, fast={'type': 'boolean'}, level={'enum': [1, 2]}),
    _tool('show', ['number'], number={'type': 'integer'}, text=TEXT),
    _tool('paint', points={'type': 'array', 'items': POINT, 'minItems': 1, 'maxItems': 2},
          words={'type': 'array', 'items': {'type': 'string'}, 'maxItems': 2}),
)
GRAMMAR = program_grammar(TOOLS, 80, '""')
BYTES = LLTokenizer('byte')


def accepted(text: str, grammar: str = GRAMMAR) -> bool:
    """Say whether the grammar lets a model write a program."""
    matcher = LLMatcher(BYTES, grammar)
    assert not matcher.is_error(), matcher.get_error()
    tokens = BYTES.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def ran(text: str, *values: object, variables: dict | None = None) -> list:
    """Return the calls of a program, and its ending."""
    run = Program.parse(text, TOOLS, variables).run()
    came = [run.next()]
    for value in values:
        came.append(run.next(value))
    return came


def calls(*parts: object) -> list:
    """Return calls, each a name and its arguments."""
    return [ToolCall(part[0], part[1] if len(part) > 1 else {}) for part in parts]


LOOP = """for place in ["kitchen", "office"]:
    move_to(place)
    t = get_temperature()
    if t > 24:
        say(f"It is {t} degrees in the {place}.")
done("I measured both rooms.")
"""


def test_a_program_makes_its_calls_with_what_they_return() -> None:
    assert accepted(LOOP)
    assert ran(LOOP, None, 21.5, None, 24.000000000004 + 0.5, {'sent': True}) == [
        *calls(('move_to', {'place': 'kitchen'}), ('get_temperature',),
               ('move_to', {'place': 'office'}), ('get_temperature',),
               ('say', {'text': 'It is 24.5 degrees in the office.'})),
        Ending('done', 'I measured both rooms.')]


END = 'done("x")\n'
NL = '\n' + END
VALID = [
    END, 'ask("Where to?")\n', 'refuse("不行。")\n', 'failed(f"{a}")\n', f'move_to("é\\""){NL}',
    f'move_to(place){NL}', f't = get_temperature(){NL}', f'say(f"{{a}} and {{b}}"){NL}',
    f'say("{"x" * 40}"){NL}', f'creep(-0.25, 30){NL}', f'creep(speed, n){NL}',
    f'tune(){NL}', f'tune(gain=-1.5){NL}', f'tune(fast=True, level=2){NL}',
    f'tune(gain=1, fast=a){NL}', f'show(5){NL}', f'show(5, text="x"){NL}',
    f'paint([{{"x": 1.5, "on": true}}], ["a\\"b"]){NL}', f'paint(points, words){NL}',
    f'a = b{NL}', f'a = "text"{NL}', f'a = -1.5{NL}', f'a = True{NL}', f'a = b + 1{NL}',
    f'a = f"{{b}}"{NL}', f'a = get_temperature() - get_battery(){NL}', f'a = abs(b - c){NL}',
    f'a = round(b){NL}', f'a = round(b - c, 2){NL}', f'a = round(abs(b - c), 1){NL}',
    f'a = min(b, c) + max(t, key=t.get){NL}', f'a = {{}}{NL}', f'a[b] = get_battery(){NL}',
    f'a["b"] = a["c"] + 1{NL}', f'a = ["x", 1, -2.5, True]{NL}', f'a += b{NL}', f'a += 1{NL}',
    f'for a in [1, 2.5]:\n    pick_up(){NL}', f'for a in rooms:\n    say(a){NL}',
    f'for i in range(50):\n    say(i){NL}', f'for i in range(n):\n    say(i){NL}',
    f'for a in b:\n    for c in d:\n        for e in f:\n            say(e){NL}',
    f'for a in b:\n    if c:\n        done("x")\n{END}',
    f'for a in b:\n    if c:\n        say(c)\n        done("x")\n    else:\n        say(b){NL}',
    f'if a:\n    pick_up(){NL}', f'if a:\n    {END}{END}',
    f'if a:\n    {END}elif b:\n    say(b)\nelif c:\n    {END}else:\n    {END}{END}',
    f'if a:\n    {END}else:\n    {END}', f'if a:\n    say(a)\n    {END}elif b:\n    {END}'
    f'else:\n    if c:\n        {END}    else:\n        {END}',
    f'if a:\n    if b:\n        if c:\n            {END}{END}',
]
INVALID = [
    '', '\n', 'pick_up()\n', 'fly()\n' + END, 'done("x")', 'done()\n', 'done("")\n', 'done(a)\n',
    f'move_to("moon"){NL}', f'move_to("kitchen", "office"){NL}', f'move_to(){NL}',
    f'creep(0.6, 1){NL}', f'creep(0.5, 0){NL}', f'creep(0.5, 1.5){NL}', f'say("{"x" * 41}"){NL}',
    f'say("a\\n"){NL}', f'say("a{{"){NL}', f'say(f"{{a.b}}"){NL}', f'say("a\r"){NL}',
    f'say(text="a"){NL}', f'tune(fast=True, gain=1){NL}', f'tune(1){NL}', f'tune(level=3){NL}',
    f'paint([], []){NL}', f'paint([{{"x": 1}}], []){NL}', f'a = fly(){NL}', f'a = b * 2{NL}',
    f'a = b + c + d{NL}', f'say = 1{NL}', f'done = 1{NL}', f'if = 1{NL}', f'true = 1{NL}',
    f'Abc = 1{NL}', f'{"a" * 17} = 1{NL}', f'a = round(round(b)){NL}', f'a = []{NL}',
    f'a = min(b, key=b){NL}', f'for a in []:\n    say(a){NL}', f'import os{NL}',
    f'for i in range(51):\n    say(i){NL}', f'for i in range(1, 51, 2, 3):\n    say(i){NL}',
    f'if a and b or c:\n    say(a){NL}', f'if a < b < c:\n    say(a){NL}',
    f'if a and b and c and d:\n    say(a){NL}', f'while a:\n    say(a){NL}',
    f'{END}{END}', f'if a:\n    {END}', f'if a:\n    {END}    say(a){NL}',
    f'if a:\n    {END}else:\n    {END}{END}', f'if a:\n    {END}else:\n    say(a)\n',
    f'for a in b:\n    {END}{END}', f'for a in b:\n    say(a)\n    {END}{END}',
    f'for a in b:\n    if c:\n        {END}    else:\n        {END}{END}',
    f'for a in b:\n    if c:\n        {END}', 'for a in b:\n    say(a)\n',
    f'if a:\n    if b:\n        if c:\n            if d:\n                say(a){NL}',
    f'if a:\n  say(a){NL}', f'if a:\n{END}', f'    say(a){NL}', f'\n{END}', f'# x\n{END}',
]
CONDITIONS = ['a', 'not a', 'a > 1', 'a <= b', 'get_battery() < 20', 'pick_up() == "broom"',
              'a != b', 'a in ["x", "y"]', 'a in b', 'a not in "abc"', 'a - b >= 2.5',
              't["k"] > t[p]', 'abs(a - b) > 1', 'a > 1 and b < 2 and not c', 'a == 1 or a == 2']


@pytest.fixture(scope='module')
def allowed(engine: LocalEngine) -> Callable[[str], bool]:
    """Return what asks the grammar as a model does, in tokens."""
    grammar = program_grammar(TOOLS, 80, literal('<|im_end|>', engine.info().special_tokens))

    def allows(text: str) -> bool:
        matcher = engine._compiler.matcher(grammar)
        try:
            matcher.consume(engine.tokenize(text + '<|im_end|>', True))
        except EngineError:
            return False
        return matcher.complete
    return allows


@pytest.mark.parametrize('text', [*VALID, *(f'if {c}:\n    say(a){NL}' for c in CONDITIONS)])
def test_a_model_can_write_this(allowed, text: str) -> None:
    assert allowed(text) and accepted(text)
    read(text)


@pytest.mark.parametrize('text', [LOOP, *VALID])
def test_what_is_forced_is_what_the_tokenizer_writes(engine: LocalEngine, text: str) -> None:
    grammar = program_grammar(TOOLS, 80, literal('<|im_end|>', engine.info().special_tokens))
    follow(engine, grammar, engine.tokenize(text + '<|im_end|>', True))


@pytest.mark.parametrize('text', INVALID)
def test_a_model_cannot_write_this(allowed, text: str) -> None:
    assert not allowed(text) and not accepted(text)


def test_endings_that_a_program_may_be_alone() -> None:
    grammar = program_grammar(TOOLS, 80, '""', frozenset({'ask', 'refuse'}))
    assert accepted('ask("x")\n', grammar) and not accepted(END, grammar)
    assert accepted('pick_up()\n' + END, grammar)
    assert accepted('if a:\n    done("x")\nelse:\n    done("y")\n', grammar)
    none = program_grammar(TOOLS, 80, '""', frozenset())
    assert accepted('pick_up()\n' + END, none) and not accepted('ask("x")\n', none)


def test_without_tools_a_program_can_still_end() -> None:
    grammar = program_grammar((), 80, '""')
    assert accepted(END, grammar) and not accepted('pick_up()\n' + END, grammar)


def test_a_tool_with_a_name_of_the_language_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match='tool round: the name means something else'):
        program_grammar((_tool('round'),), 80, '""')


def test_an_argument_that_has_no_name_in_python_cannot_be_named() -> None:
    grammar = program_grammar((_tool('go', [], **{'a-b': TEXT, 'class': TEXT, 'c': TEXT}),), 80,
                              '""')
    assert accepted('go(c="x")\n' + END, grammar)
    assert not accepted('go(class="x")\n' + END, grammar)


@pytest.mark.parametrize('expression, text', [
    ('0.1 + 0.2', '0.3'), ('21.0', '21.0'), ('20 + 1', '21'), ('1 - 2.5', '-1.5'), ('-3', '-3'),
    ('"a" + "b"', 'ab'), ('abs(1 - 3)', '2'), ('abs(-2.5)', '2.5'), ('round(2.6)', '3'),
    ('round(2.345, 1)', '2.3'), ('round(abs(1 - 3.26), 1)', '2.3'), ('min(2, 1)', '1'),
    ('max("a", "b")', 'b'), ('max(1, 1.0)', '1'), ('True', 'True'), ('not 1', 'False'),
    ('1 < 2', 'True'), ('2 <= 1', 'False'), ('"a" > "b"', 'False'), ('1 == 1.0', 'True'),
    ('"1" == 1', 'False'), ('"1" != 1', 'True'), ('"x" in ["x", 1]', 'True'),
    ('1 not in ["x"]', 'True'), ('"bc" in "abc"', 'True'), ('1 and "a"', 'a'), ('0 or "b"', 'b'),
    ('["a", 2, 1.50, True]', 'a, 2, 1.5, True'), ('{"a": 1, "b": 0.5}', 'a: 1, b: 0.5'),
    ('f"{a} {b}"', '7 c, d'), ('a + 1', '8'), ('b[0]', 'c'), ('t["k"] + 1', '3'),
    ('min(t, key=t.get)', 'k'), ('max(t, key=t.get)', 'm'), ('min(b, key=u.get)', 'd'),
    ('t', 'k: 2, m: 5'), ('none', 'None'), ('big', '9007199254740993'), ('"k" in t', 'True'),
    ('2 in t', 'False'), ('1e3', '1000.0'), ('gone', 'None'),
])
def test_values(expression: str, text: str) -> None:
    variables = {'a': 7, 'b': ['c', 'd'], 't': {'k': 2, 'm': 5}, 'u': {'c': 2, 'd': 1},
                 'none': None, 'big': 2**53 + 1, 'gone': float('nan')}
    assert ran(f'x = {expression}\ndone(f"{{x}}")\n', variables=variables)[0].text == text


def test_statements() -> None:
    assert ran('n = 0\nfor i in range(3):\n    n += i\nfor k in t:\n    n += t[k]\nn -= 1\n'
               'u = {}\nu[n] = "x"\nu["k"] = n\nt["new"] = 1\ndone(f"{n}; {u}; {t}")\n',
               variables={'t': {'a': 10, 'b': 20}}) == [
                   Ending('done', '32; 32: x, k: 32; a: 10, b: 20, new: 1')]
    branch = 'if a > 2:\n    done("big")\nelif a > 1:\n    say("two")\nelse:\n    ask("?")\n' + END
    assert ran(branch, variables={'a': 3}) == [Ending('done', 'big')]
    assert ran(branch, None, variables={'a': 2}) == [
        *calls(('say', {'text': 'two'})), Ending('done', 'x')]
    assert ran(branch, variables={'a': 1}) == [Ending('ask', '?')]
    # In a condition, only what is needed is called.
    assert ran(f'if 1 or pick_up():\n    {END}{END}') == [Ending('done', 'x')]
    assert ran('if pick_up() == "broom":\n    failed("x")\n' + END, 'broom') == [
        *calls(('pick_up',)), Ending('failed', 'x')]
    assert ran('for a in [1]:\n    for b in [2, 3]:\n        if b == 3:\n'
               '            refuse(f"{b}")\n' + END) == [Ending('refuse', '3')]


def test_arguments_are_what_the_schema_says() -> None:
    one = {'x': 1.5, 'on': True}
    for call, made in {
        'set_gripper(open)': ('set_gripper', {'state': 'open'}),
        'set_gripper(state="closed")': ('set_gripper', {'state': 'closed'}),
        'say(21.0)': ('say', {'text': '21.0'}), 'say(5)': ('say', {'text': '5'}),
        'say(True)': ('say', {'text': 'True'}), 'say(0.1 + 0.2)': ('say', {'text': '0.3'}),
        'creep(0, 2.0)': ('creep', {'speed': 0, 'steps': 2}),
        'creep(steps=2, speed=-0.5)': ('creep', {'speed': -0.5, 'steps': 2}),
        'tune(level=2, gain=1)': ('tune', {'gain': 1, 'level': 2}), 'tune()': ('tune', {}),
        'show(3, "x")': ('show', {'number': 3, 'text': 'x'}),
        'paint([{"x": 1.5, "on": true}], ["/\\ud83e\\udd16"])':
            ('paint', {'points': [one], 'words': ['/🤖']}),
        'paint(p, [w, "v"])': ('paint', {'points': [one], 'words': ['1', 'v']}),
    }.items():
        assert ran(f'{call}\n{END}', None, variables={'p': [one], 'w': 1}) == [
            ToolCall(*made), Ending('done', 'x')], call
    [call] = ran(f'creep(0, 2.0)\n{END}')
    assert isinstance(call.arguments['steps'], int)
    # A variable comes first, whatever words there are.
    assert ran(f'open = "closed"\nset_gripper(open)\n{END}') == calls(
        ('set_gripper', {'state': 'closed'}))


ERRORS = {
    'name b is not defined': ['say(b)\n', 'a = b\n', 'if b:\n    pick_up()\n', 'b += 1\n',
                              'if f:\n    b = 1\nsay(b)\n', 'a = b["x"]\n', 'b["x"] = 1\n'],
    'set_gripper: state must be open or closed, not wide':
        ['set_gripper("wide")\n', 'w = "wide"\nset_gripper(w)\n', 'set_gripper(x)\n'],
    'set_gripper: state must be open or closed, not 5': ['set_gripper(5)\n'],
    'set_gripper: state must be open or closed, not nothing': ['set_gripper(none)\n'],
    'move_to: place must be kitchen, office, room 7 or é", not moon': ['move_to("moon")\n'],
    'tune: level must be 1 or 2, not the number 3': ['tune(level=3)\n'],
    'tune: level must be 1 or 2, not True': ['tune(level=True)\n'],
    'tune: fast must be True or False, not the number 1': ['tune(fast=1)\n'],
    'creep: speed must be at most 0.5, not 0.6': ['creep(0.6, 1)\n', 'creep(0.5 + 0.1, 1)\n'],
    'creep: speed must be at least -0.5, not -2': ['creep(-2, 1)\n'],
    'creep: speed must be a number, not the text "x"': ['creep("x", 1)\n'],
    'creep: speed must be a number, not True': ['creep(True, 1)\n'],
    'creep: steps must be a whole number, not 1.5': ['creep(0, 1.5)\n'],
    'creep: steps is missing': ['creep(0)\n'],
    'creep: speed is given twice': ['creep(0, speed=0)\n'],
    'creep has no argument slow': ['creep(slow=1)\n'],
    'creep takes speed, steps, and 3 values are given': ['creep(0, 1, 2)\n'],
    'pick_up takes nothing, and 1 values are given': ['pick_up(1)\n'],
    'say: text must be a text, not nothing': ['say(none)\n', 'r = pick_up()\nsay(r)\n'],
    'say: text has 41 characters, 40 are allowed': [f'say("{"x" * 41}")\n'],
    'paint: points must be a list, not the number 1': ['paint(1, [])\n'],
    'paint: points must have at least 1 items, not 0': ['paint([], [])\n'],
    'paint: words must have at most 2 items, not 3':
        ['paint([{"x": 1, "on": true}], ["a", "b", "c"])\n'],
    'paint: points item 0 must be an object, not the number 1': ['paint([1], [])\n'],
    'paint: points item 0: the field on is missing': ['paint([{"x": 1}], [])\n'],
    'paint: points item 0 has no field y': ['paint([{"y": 1}], [])\n'],
    'fly is no function here': ['fly()\n', 'a = fly()\n', 'if fly() or f:\n    pick_up()\n'],
    'range is no function here': ['range(3)\n', 'a = range(3)\n'],
    'say cannot be the name of a variable': ['say = 1\n', 'for say in [1]:\n    pick_up()\n'],
    'true cannot be the name of a variable': ['true = 1\n'],
    'abs needs 1 value': ['a = abs(1, 2)\n', 'a = abs(x=1)\n'],
    'round needs 1 or 2 values': ['a = round()\n'],
    'min needs 2 values': ['a = min(1)\n', 'a = min(1, 2, 3)\n', 'a = min([1], default=2)\n'],
    'done needs 1 value': ['if f:\n    done()\n', 'if f:\n    done("x", "y")\n'],
    'round needs 0 to 9 digits': ['a = round(1.5, 10)\n', 'a = round(1.5, "x")\n',
                                  'a = round(1, -999999999)\n'],
    'the text "a" cannot be compared with the number 1 by <': ['a = "a" < 1\n'],
    'nothing cannot be compared with the number 1 by >': ['a = none > 1\n'],
    'a table cannot be compared with True by >=': ['a = {} >= True\n'],
    'the number 1 and the text "a" cannot be added; write f"...{name}..."': ['a = 1 + "a"\n'],
    'a number is needed, not a list': ['a = [1] + [2]\n', 'a = abs([1])\n', 'a = 1 - [1]\n'],
    'a number is needed, not the text "a"': ['a = -"a"\n', 'a = "a" - "b"\n'],
    'a number is too large': ['a = 99999999999999999999\n', 'a = 1e999\n',
                              'a = 1e308 + 1e308\n', 'a = round(1e300)\n'],
    'a text has more than 512 characters': [
        'a = "xx"\nfor i in range(9):\n    a += a\nsay("x")\n', f'a = "{"x" * 513}"\n'],
    'a text can have names in braces, and nothing else there':
        ['say(f"{1 + 1}")\n', 'a = f"{f:.1f}"\n', 'a = f"{f!r}"\n'],
    'in a text there can be a text, not the number 1': ['a = 1 in "1"\n'],
    'a list or a text is needed after in, not the number 1': ['a = 1 in 1\n'],
    'f is False, not a table': ['a = f["x"]\n'],
    't has no y': ['a = t["y"]\n', 'y = "y"\na = t[y]\n'],
    'a key is a text or a number, not True': ['t[True] = 1\n', 'a = t[True]\n'],
    'f is False; begin with f = {}': ['f["x"] = 1\n'],
    'a table cannot be a value in the table t': ['t["x"] = t\n'],
    'a table cannot be in a list': ['a = [t]\n', 'a = {"x": t}\n'],
    't has more than 50 values': ['for i in range(50):\n    t[i] = i\n'],
    'min needs a table, not the number 1': ['a = 1\nb = min(t, key=a.get)\n'],
    'max needs a value, and there is none': ['a = {}\nb = max(a, key=a.get)\n'],
    'for needs a list, not False': ['for a in f:\n    pick_up()\n'],
    'range goes 50 times at most, and not by 0':
        ['for a in range(51):\n    pick_up()\n'],
    'line 2: in a for, the end must stand inside an if': ['for a in [1]:\n    done("x")\n'],
    'line 2: nothing can follow the end': ['done("x")\n'],
    'line 1 is not understood: while f:': ['while f:\n    pick_up()\n'],
    'line 1 is not understood: import os': ['import os\n'],
    'line 1 is not understood: a = 2 * 3': ['a = 2 * 3\n'],
    'line 1 is not understood: a = 1 < 2 < 3': ['a = 1 < 2 < 3\n'],
    'line 1 is not understood: f.x()': ['f.x()\n'], 'line 1 is not understood: f': ['f\n'],
    'line 1 is not understood: a = None': ['a = None\n'],
    'line 1 is not understood: a, b = 1': ['a, b = 1\n'],
    'line 1 is not understood: a = t[1:2]': ['a = t[1:2]\n'],
    'line 1 is not understood: a = {**t}': ['a = {**t}\n'],
    'line 1 is not understood: say(*t)': ['say(*t)\n'],
    'line 1 is not understood: say(**t)': ['say(**t)\n'],
    'line 1 is not understood: a = min(t, key=f)': ['a = min(t, key=f)\n'],
    'line 1 is not understood: a = (lambda: 1)()': ['a = (lambda: 1)()\n'],
    'line 1 is not understood: f *= 2': ['f *= 2\n'],
    'line 1 cannot be read: a = = 1': ['a = = 1\n'],
    'line 2 cannot be read: say("x")': ['if f:\nsay("x")\n'],
    'the program cannot be read': ['-' * 7000 + '1\n', 'a = "\ud800"\n'],
    'the program has more than 8000 characters': ['pick_up()\n' * 801],
    'the program does more than 2000 things': [
        'for a in range(50):\n    for b in range(50):\n        c = 1\n'],
}


def problem(text: str) -> str:
    """Return why a program could not go on."""
    with pytest.raises(ProgramError) as error:
        run = Program.parse(text, TOOLS, {
            'f': False, 't': {'k': 1}, 'none': None, 'x': 'wide'}).run()
        for _ in range(2000):
            assert not isinstance(run.next(), Ending)
    assert '\n' not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize('message, text', [
    (message, text) for message, texts in ERRORS.items() for text in texts])
def test_what_is_wrong_is_told(message: str, text: str) -> None:
    assert problem(text + END) == message


def test_a_program_has_an_end_and_limits() -> None:
    assert problem('pick_up()\n') == problem('') == (
        'the program must end with ask, done, failed or refuse')
    deep = 'if f:\n    if f:\n        if f:\n            if f:\n                pick_up()\n'
    assert problem(deep + END) == 'line 5: there are more than 3 blocks in each other'
    assert problem('for a in range(50):\n    for b in range(5):\n        pick_up()\n' + END) == (
        'the program makes more than 200 calls')
    chain = 'if f:\n    pick_up()\n' + 'elif f:\n    say("x")\n' * 60 + END
    assert ran(chain, variables={'f': 0}) == [Ending('done', 'x')]


def test_an_ended_program_stays_ended_and_a_stopped_one_stopped() -> None:
    run = Program.parse('a = pick_up()\n' + END, TOOLS).run()
    assert run.next() == ToolCall('pick_up')
    assert run.next(['x', {'y': 1}]) == run.next() == Ending('done', 'x')
    assert run.variables['a'][0] == 'x'
    stopped = Program.parse('a = 1 - "x"\n' + END, TOOLS).run()
    for message in ('a number is needed', 'the program was stopped'):
        with pytest.raises(ProgramError, match=message):
            stopped.next()


def test_what_calls_return_is_bounded() -> None:
    deep: object = 'x'
    for _ in range(500):
        deep = [deep]
    for value in (deep, list(range(9999)), 'x' * 9999, {str(i): i for i in range(9999)},
                  10**999, float('inf'), {1: {2: ()}}):
        run = Program.parse('a = pick_up()\nb = a == a\nsay(f"{b}")\n' + END, TOOLS).run()
        run.next()
        assert run.next(value) == ToolCall('say', {'text': 'True'})
    assert problem('a = ["x"]\nb = a[1]\n' + END) == 'a has no 1'


def read(text: str) -> None:
    """Read and run a program that the grammar accepts; it may be wrong, never unreadable."""
    try:
        run = Program.parse(text, TOOLS).run()
        value: object = None
        for value in [None, 1, 21.5, 'broom', {'x': 1}, [1, 2], True] * 40:
            if isinstance(run.next(value), Ending):
                return
        raise AssertionError('no end')
    except ProgramError as error:
        for words in ('cannot be read', 'is not understood', 'blocks in each other', 'the end',
                      'must end', 'did not end', 'is no function', 'cannot be the name'):
            assert words not in str(error), text


# What random bytes would hardly come to.
SNIPPETS = [snippet.encode() for snippet in (
    'for a in ["x", 1]:\n    ', 'for b in range(9):\n    ', 'if a:\n    ',
    '    if not b:\n        ', 'elif b == 1:\n    ', 'else:\n    ', 'a = {}\n', 'a["k"] = ',
    'if a:\n    pick_up()\nelse:\n    ', 'if a:\n    done("x")\nelif b:\n    ',
    '    if a:\n        pick_up()\n    elif b:\n        ', '    else:\n        done("x")\n',
    'b = round(', 'abs(', 'b += ', 'max(a, key=a.get)', ' and ', ' or ', ' in ["x"', ' - ',
    'get_battery()', 'move_to("kitchen")\n', 'creep(-0.', 'paint([{"x": 1', 'tune(', 'say(f"{a}',
    'done("x")\n', '    ', '    failed("y")\n')]


def walk(generator: random.Random) -> str:
    """Return a program that the grammar lets through, byte by byte."""
    matcher, text = LLMatcher(BYTES, GRAMMAR), b''
    closing = b'done("x")\n'
    while not matcher.is_stopped():
        snippet = closing if len(text) > 250 else generator.choice(SNIPPETS)
        if matcher.deep_copy().try_consume_tokens(list(snippet)) == len(snippet) and (
                snippet is closing or generator.random() < 0.7):
            tokens = list(snippet)
        else:
            bias = np.frombuffer(matcher.compute_logit_bias(), np.uint8)
            choices = np.flatnonzero(bias[:256]).tolist()
            likely = [token for token in choices if token in b'\n()":=[]{ ab1']
            tokens = [generator.choice(likely if likely and generator.random() < 0.9 else choices)]
        assert matcher.consume_tokens(tokens)
        text += bytes(tokens)
    return text.decode()


@pytest.mark.parametrize('seed', range(200))
def test_whatever_the_grammar_accepts_can_be_read(seed: int) -> None:
    text = walk(random.Random(seed))
    assert accepted(text)
    read(text)


PIECES = st.sampled_from([
    *VALID, *INVALID, *(text for texts in ERRORS.values() for text in texts if len(text) < 99),
    'if a:\n', 'elif a:\n', 'else:\n', 'for a in b:\n', '    ', 'pick_up()', '\n', '(', ')', '[',
    ']', '{', '}', '"', 'f"', '{a}', ', ', ' = ', 'a', 'b', '1', ' + ', ' - ', 'not ', ' and ',
    'lambda', ' if ', ' else ', '*', '\\', ':', '.', '#', "'", '\t', '\r', '\0', '\ud800', 'é'])


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map(''.join)),
       st.lists(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                             lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
                min_size=1, max_size=4))
def test_nothing_but_a_program_error_comes_of_any_text(text: str, values: list) -> None:
    try:
        run = Program.parse(text, TOOLS, {'a': values[0], 'b': [1, 'x']}).run()
        for value in values * 201:
            if isinstance(run.next(value), Ending):
                return
    except ProgramError as error:
        assert str(error) and str(error).isprintable()
