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

"""Programs that the model wrote: read, and checked as far as they can be before they run."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.expression_check import ExpressionCheck
from edge_llm_ros.program.interpreter import Run
from edge_llm_ros.program.language import ENDINGS, MAX_DEPTH, ProgramError, RESERVED
from edge_llm_ros.program.syntax import branches, called, ends, not_understood, parsed, Script
from edge_llm_ros.program.value import taken


@dataclass(frozen=True)
class Program:
    """
    A program that can be run, any number of times.

    :param variables: that it begins with
    """

    script: Script
    variables: Mapping[str, Any]

    @staticmethod
    def parse(text: str, tools: Sequence[ToolSchema], variables: Mapping[str, Any] | None = None
              ) -> Program:
        """
        Return the program that a text is; nothing of it is run.

        :param tools: those that it can call
        :param variables: that it begins with, as JSON; none where it is left out
        :raises ProgramError: if it is none, or calls a tool with what that does not take
        """
        known = {name: taken(value) for name, value in (variables or {}).items()}
        try:
            reader = _Reader(text, {tool.name: tool for tool in tools}, frozenset(known))
            return Program(reader.script(), known)
        except RecursionError:
            raise ProgramError('the program is nested too deeply') from None

    def run(self) -> Run:
        """Return the program at its beginning."""
        return Run(self.script, self.variables)


class _Reader:
    """
    Reads a program, and checks its statements.

    :param known: variables that it begins with
    """

    def __init__(self, text: str, tools: Mapping[str, ToolSchema], known: frozenset[str]) -> None:
        self._text = text
        self._body = parsed(text)
        self._tools = tools
        self._expressions = ExpressionCheck(text, tools, known | {
            node.id for statement in self._body for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)})

    def script(self) -> Script:
        self._block(self._body, 0)
        if not ends(self._body):
            *others, last = sorted(ENDINGS)
            raise ProgramError(f'the program must end with {", ".join(others)} or {last}')
        return Script(self._body, self._tools, self._expressions.literals)

    def _block(self, body: Sequence[ast.stmt], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ProgramError(
                f'line {body[0].lineno}: there are more than {MAX_DEPTH} blocks in each other')
        for i, statement in enumerate(body):
            if i and ends(body[:i]):
                raise ProgramError(f'line {statement.lineno}: nothing can follow the end')
            self._statement(statement, depth)

    def _statement(self, node: ast.stmt, depth: int) -> None:
        if isinstance(node, ast.Expr):
            self._call(node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._target(node.targets[0])
            self._expressions.value(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and (
                isinstance(node.op, (ast.Add, ast.Sub))):
            self._target(node.target)
            self._expressions.value(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not node.orelse:
            self._loop(node, depth)
        elif isinstance(node, ast.If):
            for test, body in branches(node):
                if test is not None:
                    self._expressions.value(test)
                self._block(body, depth + 1)
        else:
            raise not_understood(self._text, node)

    def _call(self, node: ast.expr) -> None:
        if called(node) in ENDINGS:
            self._expressions.value(self._expressions.values_of(node, (1,))[0])
        elif isinstance(node, ast.Call):
            self._expressions.value(node)
        else:
            raise not_understood(self._text, node)

    def _loop(self, node: ast.For, depth: int) -> None:
        self._target(node.target)
        in_range = called(node.iter) == 'range'
        for value in self._expressions.values_of(node.iter, (1, 2, 3)) if in_range else [
                node.iter]:
            self._expressions.value(value)
        if ends(node.body):
            raise ProgramError(
                f'line {node.body[-1].lineno}: in a for, the end must stand inside an if')
        self._block(node.body, depth + 1)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Subscript):
            self._expressions.value(node)
        elif not isinstance(node, ast.Name):
            raise not_understood(self._text, node)
        elif node.id in RESERVED or node.id in self._tools:
            raise ProgramError(f'{node.id} cannot be the name of a variable')
