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

"""The Lark grammar of programs, for llguidance: what it accepts is also Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.language import (
    ASK, DONE, ENDINGS, INDENT, MAX_DEPTH, MAX_DIGITS, MAX_NAME, MAX_ROUNDS, REFUSE,
    RESERVED)
from edge_llm_ros.prompt.call_grammar import arguments_schema, is_free_text, literal
from edge_llm_ros.prompt.prompt_file import judgement_line, JUDGEMENTS

# Control characters are out: Python reads some of them as the end of a line.
_CHARACTER = r'/[^"\\{}\x00-\x1f\x7f]/'
_WHOLE = r'-?(0|[1-9][0-9]{0,14})'
# What all programs are made of, whatever the tools. A function's values hold no functions: what
# nests without end could be deeper than Python reads.
_EXPRESSIONS = rf"""
FRACTION: /{_WHOLE}(\.[0-9]{{1,9}})?/
WHOLE: /{_WHOLE}/
KEY: "\"" CHARACTER{{1,64}} "\""
DIGIT: /[0-{MAX_DIGITS}]/
COMPARED: " < " | " > " | " <= " | " >= " | " == " | " != "
AMONG: " in " | " not in "
SIGN: " + " | " - "
BOOLEAN: "True" | "False"
simple: CALL NAME " = " ( sum | "{{}}" | list ) | entry " = " sum | NAME " += " sum
entry: NAME "[" ( NAME | KEY ) "]"
constant: FRACTION | BOOLEAN | PLAIN
list: "[" constant ( ", " constant )* "]"
atom: CALL NAME | entry | constant | FILLED
function: "abs(" part ")" | "round(" ( part | "abs(" part ")" ) ( ", " DIGIT )? ")" | LEAST ( NAME ", key=" NAME ".get)" | part ", " part ")" )
LEAST: "min(" | "max("
part: atom ( SIGN atom )?
term: atom | function
sum: term ( SIGN term )?
condition: test ( " and " test ( " and " test )? | " or " test ( " or " test )? )?
test: sum ( COMPARED sum | AMONG ( NAME | list | PLAIN ) )? | "not " term
loop: "for " NAME " in " ( list | NAME | "range(" bound ( ", " bound ( ", " bound )? )? ")" ) ":\n"
bound: ROUNDS | NAME
end: ENDING "(" CLOSING ")\n"
"""  # noqa: E501
# Blocks by depth n: a statement after which the program goes on (s), and a block that ends (e),
# whose last statement is an ending, or an if all of whose blocks end (l). An if after which the
# program goes on has a block that does not end (then y follows), or no else (x follows till then).
_BLOCKS = r"""
s{n}: {indent}simple "\n" | {indent}loop s{inner}+ | {indent}"if " condition ":\n" ( e{inner} x{n}? | s{inner}+ y{n}? )
x{n}: {indent}"elif " condition ":\n" ( e{inner} x{n}? | s{inner}+ y{n}? ) | {indent}"else:\n" s{inner}+
y{n}: {indent}"elif " condition ":\n" ( e{inner} | s{inner}+ ) y{n}? | {indent}"else:\n" ( e{inner} | s{inner}+ )
e{n}: s{n}* ( {indent}end | l{n} )
l{n}: {indent}"if " condition ":\n" e{inner} ( {indent}"elif " condition ":\n" e{inner} )* {indent}"else:\n" e{inner}
"""  # noqa: E501
_INNERMOST = r"""
s{n}: {indent}simple "\n"
e{n}: s{n}* {indent}end
"""


def program_grammar(tools: Sequence[ToolSchema], text_length: int, after: str,
                    endings: frozenset[str] = ENDINGS, judged: bool = False) -> str:
    """
    Return the grammar of a program that calls tools and cannot fall off its end.

    :param tools: those that can be called in a goal, narrowed by with_choices()
    :param text_length: characters of a text at most, where a tool does not say less
    :param after: Lark terminals after the program
    :param endings: those that a program may consist of alone
    :param judged: whether a line before the program says what kind of goal it is
    :raises ConfigError: if a tool has a name that means something else in a program
    """
    names = '|'.join(sorted(RESERVED | {tool.name for tool in tools}))
    arguments = _Arguments(text_length)
    calls = [arguments.call(tool) for tool in tools]
    if judged:
        endings = frozenset({DONE})  # the others stand behind judgements of their own
    alone = 'ALONE "(" CLOSING ")\\n" | ' if endings else ''
    lines = [
        '%llguidance {}', f'start: ( {_judged() if judged else "program"} ) {after}',
        f'program: {alone}s0+ end | s0* l0',
        f'CHARACTER: {_CHARACTER}', f'NAME: /[a-z][a-z0-9_]{{0,{MAX_NAME - 1}}}/ & ~/({names})/',
        'HOLE: "{" NAME "}"', f'ROUNDS: /{"|".join(map(str, range(-1, MAX_ROUNDS + 1)))}/',
        f'ENDING: {_any(sorted(ENDINGS))}', f'PLAIN: {_plain(0, text_length)}',
        f'FILLED: {_filled(0, text_length)}',
        f'CLOSING: {_plain(1, text_length)} | {_filled(1, text_length)}']
    lines += [f'ALONE: {_any(sorted(endings))}'] if endings else []
    lines += [f'call: {" | ".join(calls)}'] if calls else []
    lines.append(_EXPRESSIONS.strip().replace('CALL ', 'call | ' if calls else ''))
    return '\n'.join([*lines, *arguments.rules, *_blocks()]) + '\n'


def _judged() -> str:
    """Return what may follow which judgement."""
    fine, *others = (literal(judgement_line(name), ()) for name in JUDGEMENTS)
    ends = (ASK, REFUSE, REFUSE)
    return ' | '.join([f'{fine} program', *(
        f'{line} {literal(f"{end}(", ())} CLOSING ")\\n"' for line, end in zip(others, ends))])


def _blocks() -> list[str]:
    """Return the rules of blocks in each other, inner ones last."""
    rules = []
    for depth in range(MAX_DEPTH + 1):
        indent = literal(INDENT * depth, ()) + ' ' if depth else ''
        rule = _BLOCKS if depth < MAX_DEPTH else _INNERMOST
        rules.append(rule.strip().format(n=depth, inner=depth + 1, indent=indent))
    return rules


def _any(words: Sequence[str]) -> str:
    return ' | '.join(literal(word, ()) for word in words)


def _plain(least: int, most: int) -> str:
    return f'"\\"" CHARACTER{{{least},{most}}} "\\""'


def _filled(least: int, most: int) -> str:
    return f'"f\\"" ( CHARACTER | HOLE ){{{least},{most}}} "\\""'


class _Arguments:
    """
    The rules of arguments; those of equal schemas are one.

    :param text_length: characters of a text at most
    """

    def __init__(self, text_length: int) -> None:
        self._text_length = text_length
        self._names: dict[str, str] = {}  # by what the rule says
        self.rules: list[str] = []

    def call(self, tool: ToolSchema) -> str:
        """Return what a call of a tool may be."""
        if tool.name in RESERVED:
            raise ConfigError(f'tool {tool.name}: the name means something else in a program.')
        schema = arguments_schema(tool, self._text_length)
        values = {name: self._value(rules, schema['x-guidance'])
                  for name, rules in schema['properties'].items()}
        required = [name for name in values if name in schema['required']]
        # What is no name in Python cannot be written; a required argument needs no name.
        optional = [f'{literal(name + "=", ())} {value}' for name, value in values.items()
                    if name not in required and name.isidentifier() and name not in RESERVED]
        given = ' ", " '.join(values[name] for name in required)
        opening = literal(f'{tool.name}(', ())
        if given or not optional:
            more = ' '.join(f'( ", " {argument} )?' for argument in optional)
            return f'{opening} {given} {more} ")"'
        starts = [' '.join([first, *(f'( ", " {argument} )?' for argument in optional[i + 1:])])
                  for i, first in enumerate(optional)]
        return f'{opening} ( {" | ".join(starts)} )? ")"'

    def _value(self, schema: Mapping[str, Any], guidance: Any) -> str:
        words = _words(schema, self._text_length)
        says = words or _other(schema, guidance)
        if says not in self._names:
            name = self._names[says] = f'value_{len(self._names)}'
            # One terminal for all words of an argument: fewer of them, faster masks.
            self.rules += [f'{name.upper()}: {words}'] if words else []
            self.rules.append(f'{name}: NAME | {name.upper() if words else says}')
        return self._names[says]


def _words(schema: Mapping[str, Any], text_length: int) -> str:
    """Return the terminal that a listed value or a text is; empty for others."""
    if 'enum' in schema or 'const' in schema:
        return _any([in_program(word) for word in schema.get('enum', [schema.get('const')])])
    if not is_free_text(schema):
        return ''
    least, most = schema.get('minLength', 0), schema.get('maxLength', text_length)
    return f'{_plain(least, most)} | {_filled(least, most)}'


def _other(schema: Mapping[str, Any], guidance: Any) -> str:
    kind = schema.get('type')
    if kind == 'boolean':
        return 'BOOLEAN'
    if kind in ('number', 'integer') and not {'minimum', 'maximum'} & set(schema):
        return 'FRACTION' if kind == 'number' else 'WHOLE'
    return f'%json {canonical_json({**schema, "x-guidance": guidance})}'


def in_program(value: Any) -> str:
    """Return a word, a number or a truth value as it is written in a program."""
    return str(value) if isinstance(value, bool) else canonical_json(value)
