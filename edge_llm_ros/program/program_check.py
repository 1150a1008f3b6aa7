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

"""Looks at a program before it is run: whether it and the goal speak of the same things."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.language import DONE, ENDINGS
from edge_llm_ros.program.syntax import called, parsed
from edge_llm_ros.prompt.named_values import mentions, nameable, named
from edge_llm_ros.prompt.words import Words


class ProgramCheck:
    """
    Compares the programs of a goal with what was said; questions each kind of thing once.

    :param instruction: the goal
    :param heard: what was said and found so far, the goal included
    """

    def __init__(self, instruction: str, heard: Sequence[str], tools: Sequence[ToolSchema],
                 words: Words) -> None:
        self._names = nameable(tools)
        self._tools = {tool.name: tool for tool in tools}
        self._words = words
        self._heard = list(heard)
        # Where the goal says what not to do, not all that it names has to be used.
        self._due = [] if any(mentions(instruction, word) for word in words.excluding) else (
            named([instruction], self._names))
        self._asked: set[str] = set()
        self._used: list[str] = []  # by programs that were run, of which this one may be the rest

    def hear(self, text: str) -> None:
        """Take note of what was said or found since."""
        self._heard.append(text)

    def question(self, text: str) -> str:
        """
        Return why a program is not run as it is; empty where it is run.

        :param text: of a program that can be read
        """
        nodes = [node for statement in parsed(text) for node in ast.walk(statement)]
        ends = [node for node in nodes if called(node) in ENDINGS]
        calls = [node for node in nodes if called(node) in self._tools]
        if not calls and any(called(node) != DONE for node in ends):
            return ''
        spoken = {id(part) for end in ends if calls for part in ast.walk(end)}
        used = [node.value for node in nodes if isinstance(node, ast.Constant)
                and isinstance(node.value, str) and id(node) not in spoken]
        told = [self._tools[called(node)].description for node in calls]
        known = named([*self._used, *used, *told], self._names)
        unused = [value for value in self._due if value not in known]
        guessed = [value for value in dict.fromkeys(used)
                   if value in self._names and value not in named(self._heard, self._names)]
        reason = self._once(self._words.unused, unused) or self._once(
            self._words.guessed, guessed)
        self._used += [] if reason else [*used, *told]
        return reason

    def _once(self, words: str, values: Sequence[str]) -> str:
        if not values or words in self._asked:
            return ''
        self._asked.add(words)
        return words.format(names=' and '.join(values))
