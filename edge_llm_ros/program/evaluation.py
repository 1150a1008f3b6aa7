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

"""Expressions of a program, evaluated: what they call is called on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping
from typing import Any

from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.program.argument_check import by_name, checked, word
from edge_llm_ros.program.language import MAX_CALLS, MAX_STEPS, ProgramError
from edge_llm_ros.program.syntax import called, Script
from edge_llm_ros.program.value import (
    absolute, added, among, in_text, is_number, less, negative, rounded, subtracted, told)

Steps = Generator[ToolCall, Any, Any]
"""Gives calls, takes what they returned, and returns a value at its end."""

_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: '<', ast.Gt: '>', ast.LtE: '<=', ast.GtE: '>='}


class Evaluation:
    """
    Evaluates expressions of a script that was checked.

    :param variables: that it begins with
    """

    def __init__(self, script: Script, variables: Mapping[str, Any]) -> None:
        self.variables = {name: dict(value) if isinstance(value, Mapping) else value
                          for name, value in variables.items()}
        self._tools = script.tools
        self._literals = script.literals
        self._steps = self._calls = 0
        self._kinds: Mapping[type[ast.expr], Callable[[Any], Steps]] = {
            ast.JoinedStr: self._joined, ast.BinOp: self._sum, ast.UnaryOp: self._single,
            ast.BoolOp: self._junction, ast.Compare: self._comparison, ast.Call: self._call,
            ast.Subscript: self._entry, ast.List: self._list, ast.Dict: self._table,
        }

    def count(self) -> None:
        """Count something that is done."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise ProgramError(f'the program does more than {MAX_STEPS} things')

    def variable(self, name: str) -> Any:
        """Return the value of a variable."""
        if name not in self.variables:
            raise ProgramError(f'name {name} is not defined')
        return self.variables[name]

    def value(self, node: ast.expr) -> Steps:
        """Return the value of an expression."""
        self.count()
        if node in self._literals:
            return self._literals[node]
        if isinstance(node, ast.Name):
            return self.variable(node.id)
        return (yield from self._kinds[type(node)](node))

    def key(self, node: ast.expr) -> Steps:
        """Return the key of an entry."""
        key = yield from self.value(node)
        if not isinstance(key, str) and not is_number(key):
            raise ProgramError(f'a key is a text or a number, not {told(key)}')
        return key

    def _joined(self, node: ast.JoinedStr) -> Steps:
        text = ''
        for part in node.values:
            part = part.value if isinstance(part, ast.FormattedValue) else part
            text = in_text(text + in_text((yield from self.value(part))))
        return text

    def _sum(self, node: ast.BinOp) -> Steps:
        left = yield from self.value(node.left)
        right = yield from self.value(node.right)
        return (added if isinstance(node.op, ast.Add) else subtracted)(left, right)

    def _single(self, node: ast.UnaryOp) -> Steps:
        value = yield from self.value(node.operand)
        return negative(value) if isinstance(node.op, ast.USub) else not value

    def _junction(self, node: ast.BoolOp) -> Steps:
        value = None
        for operand in node.values:
            value = yield from self.value(operand)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def _comparison(self, node: ast.Compare) -> Steps:
        left = yield from self.value(node.left)
        right = yield from self.value(node.comparators[0])
        kind = type(node.ops[0])
        if kind in _SIGNS:
            return less(left, _SIGNS[kind], right)
        if kind in (ast.In, ast.NotIn):
            return among(left, right) == (kind is ast.In)
        return (left == right) == (kind is ast.Eq)

    def _entry(self, node: ast.Subscript) -> Steps:
        assert isinstance(node.value, ast.Name)
        name = node.value.id
        values = self.variable(name)
        return _found(name, values, (yield from self.key(node.slice)))

    def _list(self, node: ast.List) -> Steps:
        items = []
        for item in node.elts:
            items.append(_scalar((yield from self.value(item))))
        return tuple(items)

    def _table(self, node: ast.Dict) -> Steps:
        table = {}
        for key, item in zip(node.keys, node.values):
            assert key is not None
            found = yield from self.key(key)
            table[found] = _scalar((yield from self.value(item)))
        return table

    def _call(self, node: ast.Call) -> Steps:
        name = called(node)
        if name in self._tools:
            return (yield from self._tool(node, self._tools[name]))
        values = []
        for argument in node.args:
            values.append((yield from self.value(argument)))
        if node.keywords:
            return self._by_key(node, values[0])
        if name in ('min', 'max'):
            first, second = values
            takes_second = less(second, '<' if name == 'min' else '>', first)
            return second if takes_second else first
        return absolute(*values) if name == 'abs' else rounded(*values)

    def _by_key(self, node: ast.Call, values: Any) -> Any:
        """Return what min(NAME, key=NAME.get) is."""
        by = node.keywords[0].value
        assert isinstance(by, ast.Attribute) and isinstance(by.value, ast.Name)
        name, table = by.value.id, self.variable(by.value.id)
        if not isinstance(table, Mapping) or not isinstance(values, (Mapping, tuple)):
            raise ProgramError(f'{called(node)} needs a table, not {told(table)}')
        if not values:
            raise ProgramError(f'{called(node)} needs a value, and there is none')
        best, *others = values
        for item in others:
            self.count()
            if less(_found(name, table, item), '<' if called(node) == 'min' else '>',
                    _found(name, table, best)):
                best = item
        return best

    def _tool(self, node: ast.Call, tool: ToolSchema) -> Steps:
        named = {str(by.arg): by.value for by in node.keywords}
        arguments = {}
        for name, given in by_name(tool, node.args, named).items():
            schema = tool.parameters['properties'][name]
            # A listed value that is written without quotes.
            value = word(schema, given.id) if isinstance(given, ast.Name) and (
                given.id not in self.variables) else None
            if value is None:
                value = yield from self.value(given)
            arguments[name] = checked(schema, value, f'{tool.name}: {name}')
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise ProgramError(f'the program makes more than {MAX_CALLS} calls')
        return (yield ToolCall(tool.name, arguments))


def _found(name: str, values: Any, key: Any) -> Any:
    if isinstance(values, Mapping) and key in values:
        return values[key]
    if isinstance(values, tuple) and isinstance(key, int) and 0 <= key < len(values):
        return values[key]
    if not isinstance(values, (Mapping, tuple)):
        raise ProgramError(f'{name} is {told(values)}, not a table')
    raise ProgramError(f'{name} has no {in_text(key)}')


def _scalar(value: Any) -> Any:
    """Return what can be in a list or a table that is written out: not one in another."""
    if isinstance(value, (Mapping, tuple)):
        raise ProgramError(f'{told(value)} cannot be in a list')
    return value
