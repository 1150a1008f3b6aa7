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

"""What runs a program: from one call of a tool to the next, to the ending."""

from __future__ import annotations

import ast
from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.program.evaluation import Evaluation, Steps
from edge_llm_ros.program.language import (
    Ending, ENDINGS, MAX_KEYS, MAX_NUMBER, MAX_ROUNDS, ProgramError)
from edge_llm_ros.program.syntax import branches, called, Script
from edge_llm_ros.program.value import added, in_text, is_number, subtracted, taken, told


class Run:
    """
    A program under way.

    :param variables: that it begins with
    """

    def __init__(self, script: Script, variables: Mapping[str, Any]) -> None:
        self._evaluation = Evaluation(script, variables)
        self._steps = self._program(script.body)
        self._begun = False
        self._ending: Ending | None = None
        self._tests = 0

    @property
    def in_condition(self) -> bool:
        """Say whether the call that was returned last decides which way the program goes."""
        return self._tests > 0

    @property
    def variables(self) -> Mapping[str, Any]:
        """Return the variables as they are now."""
        return MappingProxyType(self._evaluation.variables)

    def next(self, value: Any = None) -> ToolCall | Ending:
        """
        Go on to the next call, its arguments checked, or to the ending.

        :param value: what the call before returned, as JSON
        :raises ProgramError: if the program cannot go on; then it never can
        """
        try:
            if self._ending is None:
                call = self._steps.send(taken(value) if self._begun else None)
                self._begun = True
                return call
        except StopIteration as stop:
            self._ending = stop.value
        if self._ending is None:
            raise ProgramError('the program was stopped')
        return self._ending

    def _program(self, body: Sequence[ast.stmt]) -> Generator[ToolCall, Any, Ending]:
        ending: Ending | None = yield from self._block(body)
        if ending is None:
            raise ProgramError('the program did not end')
        return ending

    def _block(self, body: Sequence[ast.stmt]) -> Steps:
        """Run statements; returns the ending, if they come to one."""
        for node in body:
            self._evaluation.count()
            ending: Ending | None = None
            if isinstance(node, ast.If):
                ending = yield from self._if(node)
            elif isinstance(node, ast.For):
                ending = yield from self._for(node)
            elif isinstance(node, ast.Expr):
                ending = yield from self._expression(node.value)
            elif isinstance(node, ast.Assign):
                value = yield from self._evaluation.value(node.value)
                yield from self._assign(node.targets[0], value)
            elif isinstance(node, ast.AugAssign):
                yield from self._change(node)
            if ending is not None:
                return ending
        return None

    def _expression(self, node: ast.expr) -> Steps:
        """Make a call; returns the ending, if it is one."""
        kind = called(node)
        if kind not in ENDINGS:
            yield from self._evaluation.value(node)
            return None
        assert isinstance(node, ast.Call)
        return Ending(kind, in_text((yield from self._evaluation.value(node.args[0]))))

    def _if(self, node: ast.If) -> Steps:
        for test, body in branches(node):
            if test is not None:
                self._tests += 1
                value = yield from self._evaluation.value(test)
                self._tests -= 1
            if test is None or value:
                return (yield from self._block(body))
        return None

    def _for(self, node: ast.For) -> Steps:
        assert isinstance(node.target, ast.Name)
        for item in (yield from self._items(node.iter)):
            self._evaluation.count()
            self._evaluation.variables[node.target.id] = item
            ending = yield from self._block(node.body)
            if ending is not None:
                return ending
        return None

    def _items(self, node: ast.expr) -> Steps:
        """Return what a for goes through."""
        if called(node) != 'range':
            values = yield from self._evaluation.value(node)
            if not isinstance(values, (tuple, Mapping)):
                raise ProgramError(f'for needs a list, not {told(values)}')
            return tuple(values)
        assert isinstance(node, ast.Call)
        numbers = []
        for argument in node.args:
            number = yield from self._evaluation.value(argument)
            if not is_number(number) or number != int(number) or abs(number) > MAX_NUMBER:
                raise ProgramError(f'range needs whole numbers, not {told(number)}')
            numbers.append(int(number))
        if numbers[2:] == [0] or len(range(*numbers)) > MAX_ROUNDS:
            raise ProgramError(f'range goes {MAX_ROUNDS} times at most, and not by 0')
        return range(*numbers)

    def _change(self, node: ast.AugAssign) -> Steps:
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        before = self._evaluation.variable(name)
        change = yield from self._evaluation.value(node.value)
        add = added if isinstance(node.op, ast.Add) else subtracted
        self._evaluation.variables[name] = add(before, change)

    def _assign(self, target: ast.expr, value: Any) -> Steps:
        if isinstance(target, ast.Name):
            self._evaluation.variables[target.id] = value
            return
        assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        name = target.value.id
        table = self._evaluation.variable(name)
        if not isinstance(table, dict):
            raise ProgramError(f'{name} is {told(table)}; begin with {name} = {{}}')
        key = yield from self._evaluation.key(target.slice)
        if isinstance(value, dict):
            raise ProgramError(f'a table cannot be a value in the table {name}')
        if key not in table and len(table) >= MAX_KEYS:
            raise ProgramError(f'{name} has more than {MAX_KEYS} values')
        table[key] = value
