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

"""Programs as Python's own parser gives them, and what is asked of their parts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.language import ENDINGS, MAX_SOURCE, ProgramError

_SHOWN = 60  # characters of a line in a message


@dataclass(frozen=True)
class Script:
    """
    A program that was checked.

    :param literals: values that are written as such
    """

    body: Sequence[ast.stmt]
    tools: Mapping[str, ToolSchema]
    literals: Mapping[ast.expr, Any]


def parsed(text: str) -> Sequence[ast.stmt]:
    """
    Return the statements of a text.

    :raises ProgramError: if it is not Python
    """
    if len(text) > MAX_SOURCE:
        raise ProgramError(f'the program has more than {MAX_SOURCE} characters')
    try:
        return ast.parse(text).body
    except SyntaxError as error:
        raise ProgramError(_at_line(text, error.lineno or 1, 'cannot be read')) from None
    except (ValueError, MemoryError, OverflowError):
        raise ProgramError('the program cannot be read') from None


def parts(text: str) -> list[ast.AST]:
    """
    Return all of a text's syntax tree.

    :raises ProgramError: if it is not Python
    """
    return [node for statement in parsed(text) for node in ast.walk(statement)]


def texts(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the texts that are written as such."""
    return [node.value for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def not_understood(text: str, node: ast.stmt | ast.expr) -> ProgramError:
    """Return the error for a part that is Python but not of this language."""
    return ProgramError(_at_line(text, node.lineno, 'is not understood'))


def _at_line(text: str, number: int, problem: str) -> str:
    lines = text.split('\n')
    line = lines[min(number, len(lines)) - 1].strip()
    return f'line {number} {problem}: {line[:_SHOWN]}'


def called(node: ast.AST) -> str:
    """Return the name that a call calls; empty for what is none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return ''


def branches(node: ast.If) -> list[tuple[ast.expr | None, Sequence[ast.stmt]]]:
    """Return the blocks of an if, each with its condition; None for that of else."""
    found: list[tuple[ast.expr | None, Sequence[ast.stmt]]] = []
    while True:
        found.append((node.test, node.body))
        following = node.orelse
        # Python keeps an elif as an if in an else; only what it begins at tells them apart.
        if len(following) == 1 and isinstance(following[0], ast.If) and (
                following[0].col_offset == node.col_offset):
            node = following[0]
            continue
        return found + ([(None, following)] if following else [])


def ends(body: Sequence[ast.stmt]) -> bool:
    """Say whether a block ends the program, whichever way it goes."""
    last = body[-1] if body else None
    if isinstance(last, ast.Expr):
        return called(last.value) in ENDINGS
    if not isinstance(last, ast.If):
        return False
    ways = branches(last)
    return ways[-1][0] is None and all(ends(block) for _, block in ways)
