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

"""Expressions of a program, checked before it runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
import json
from typing import Any

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.argument_check import by_name, checked, word
from edge_llm_ros.program.language import MAX_NESTED, MAX_SOURCE, MAX_TEXT, ProgramError
from edge_llm_ros.program.syntax import called, not_understood
from edge_llm_ros.program.value import is_number, taken

_OPERATORS = (ast.Add, ast.Sub, ast.USub, ast.Not, ast.And, ast.Or, ast.Lt, ast.Gt, ast.LtE,
              ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_COUNTS = {'abs': (1,), 'round': (1, 2), 'min': (2,), 'max': (2,)}  # of values that they take


class ExpressionCheck:
    """
    Checks expressions, and notes the values of literals.

    :param text: the program
    :param tools: those that it can call
    :param names: variables that it has at some time
    """

    def __init__(self, text: str, tools: Mapping[str, ToolSchema], names: frozenset[str]) -> None:
        self.literals: dict[ast.expr, Any] = {}
        self._text = text
        self._tools = tools
        self._names = names
        self._checks: dict[type[ast.expr], Callable[[Any, int], None]] = {
            ast.Constant: self._constant, ast.Name: self._name, ast.JoinedStr: self._joined,
            ast.BinOp: self._operation, ast.UnaryOp: self._operation, ast.BoolOp: self._operation,
            ast.Compare: self._comparison, ast.Call: self._call, ast.Subscript: self._entry,
            ast.List: self._list, ast.Dict: self._table,
        }

    def value(self, node: ast.expr, depth: int = 0) -> None:
        """
        Check an expression.

        :raises ProgramError: if it is not of the language, or cannot be right
        """
        if depth > MAX_NESTED or type(node) not in self._checks:
            raise not_understood(self._text, node)
        self._checks[type(node)](node, depth + 1)

    def values_of(self, node: ast.expr, counts: Sequence[int]) -> list[ast.expr]:
        """Return what stands between the parentheses of a call that is no tool's."""
        assert isinstance(node, ast.Call)
        if node.keywords or len(node.args) not in counts:
            wanted = ' or '.join(map(str, counts)) + (' values' if counts[-1] > 1 else ' value')
            raise ProgramError(f'{called(node)} needs {wanted}')
        return node.args

    def _constant(self, node: ast.Constant, depth: int) -> None:
        value = node.value
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise ProgramError(f'a text has more than {MAX_TEXT} characters')
        if isinstance(value, (int, float)) and not isinstance(value, bool) and (
                not is_number(value)):
            raise ProgramError('a number is too large')
        if not isinstance(value, (str, int, float)):
            raise not_understood(self._text, node)
        self.literals[node] = value

    def _name(self, node: ast.Name, depth: int) -> None:
        if node.id not in self._names:
            raise ProgramError(f'name {node.id} is not defined')

    def _joined(self, node: ast.JoinedStr, depth: int) -> None:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.conversion != -1 or part.format_spec is not None or (
                        not isinstance(part.value, ast.Name)):
                    raise ProgramError('a text can have names in braces, and nothing else there')
                part = part.value
            self.value(part, depth)

    def _operation(self, node: ast.BinOp | ast.UnaryOp | ast.BoolOp, depth: int) -> None:
        if not isinstance(node.op, _OPERATORS):
            raise not_understood(self._text, node)
        operands = ([node.left, node.right] if isinstance(node, ast.BinOp) else
                    [node.operand] if isinstance(node, ast.UnaryOp) else node.values)
        for operand in operands:
            self.value(operand, depth)
        if isinstance(node.op, ast.USub) and is_number(self.literals.get(operands[0])):
            self.literals[node] = -self.literals[operands[0]]

    def _comparison(self, node: ast.Compare, depth: int) -> None:
        if len(node.ops) > 1 or not isinstance(node.ops[0], _OPERATORS):
            raise not_understood(self._text, node)
        self.value(node.left, depth)
        self.value(node.comparators[0], depth)

    def _entry(self, node: ast.Subscript, depth: int) -> None:
        if not isinstance(node.value, ast.Name) or isinstance(node.slice, ast.Slice):
            raise not_understood(self._text, node)
        self.value(node.value, depth)
        self.value(node.slice, depth)

    def _list(self, node: ast.List, depth: int) -> None:
        for item in node.elts:
            self.value(item, depth)

    def _table(self, node: ast.Dict, depth: int) -> None:
        for key, item in zip(node.keys, node.values):
            if key is None:
                raise not_understood(self._text, node)
            self.value(key, depth)
            self.value(item, depth)

    def _call(self, node: ast.Call, depth: int) -> None:
        name = called(node)
        if name in self._tools:
            self._tool_call(node, self._tools[name], depth)
        elif name in _COUNTS and not (name in ('min', 'max') and self._by_key(node)):
            for argument in self.values_of(node, _COUNTS[name]):
                self.value(argument, depth)
        elif name not in _COUNTS:
            raise ProgramError(f'{name} is no function here') if name else (
                not_understood(self._text, node))

    def _by_key(self, node: ast.Call) -> bool:
        """Say whether this is min(NAME, key=NAME.get) or its like, and check the names."""
        by = node.keywords[0] if len(node.keywords) == 1 else None
        if by is None or by.arg != 'key' or len(node.args) != 1:
            return False
        if not (isinstance(by.value, ast.Attribute) and by.value.attr == 'get'
                and isinstance(by.value.value, ast.Name)):
            raise not_understood(self._text, node)
        self.value(node.args[0])
        self.value(by.value.value)
        return True

    def _tool_call(self, node: ast.Call, tool: ToolSchema, depth: int) -> None:
        named = {by.arg: by.value for by in node.keywords if by.arg is not None}
        if len(named) < len(node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise not_understood(self._text, node)
        for name, value in by_name(tool, node.args, named).items():
            schema = tool.parameters['properties'][name]
            if isinstance(value, ast.Name) and value.id not in self._names and (
                    word(schema, value.id) is not None):
                continue
            if isinstance(value, (ast.List, ast.Dict)) and self._json(value):
                checked(schema, self.literals[value], f'{tool.name}: {name}')
                continue
            self.value(value, depth)
            if value in self.literals:
                checked(schema, self.literals[value], f'{tool.name}: {name}')

    def _json(self, node: ast.expr) -> bool:
        """Note the value of a list or an object that is written as JSON, and say whether it is."""
        try:
            value = json.loads(ast.get_source_segment(self._text, node) or '')
        except (ValueError, RecursionError):
            return False
        self.literals[node] = taken(value, MAX_SOURCE)
        return True
