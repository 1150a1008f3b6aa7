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
from edge_llm_ros.program.doubts import doubts, Draft
from edge_llm_ros.program.language import DONE, ENDINGS, REFUSE
from edge_llm_ros.program.syntax import called, parts, texts
from edge_llm_ros.prompt.named_values import mentions, nameable, named
from edge_llm_ros.prompt.words import Words

_WEIGHT = 2  # of a place that was forgotten or guessed, against one of any other doubt


class ProgramCheck:
    """
    Compares the programs of a goal with what was said; questions each kind of thing once.

    :param instruction: the goal
    :param heard: what was said and found so far, the goal included
    """

    def __init__(self, instruction: str, heard: Sequence[str], tools: Sequence[ToolSchema],
                 words: Words) -> None:
        self._instruction = instruction
        self._names = nameable(tools)
        self._tools = {tool.name: tool for tool in tools}
        self._words = words
        self._heard = list(heard)
        # Where the goal says what not to do, not all that it names has to be used.
        self._due = [] if any(mentions(instruction, word) for word in words.excluding) else (
            named([instruction], self._names))
        self._asked: set[str] = set()
        self._ran = False
        self._used: list[str] = []  # by programs that were run, of which this one may be the rest

    def hear(self, text: str) -> None:
        """Take note of what was said or found since."""
        self._heard.append(text)

    def doubts(self, text: str) -> int:
        """
        Return how much speaks against a program; 0 where nothing does.

        Against a refusal nothing does: no other program may be tried until one acts.

        :param text: of a program that can be read
        """
        nodes = parts(text)
        if self._only_says_no(nodes) and REFUSE in map(called, nodes):
            return 0
        acts = any(called(node) in self._tools for node in nodes)
        found = doubts(Draft(
            self._instruction, text, nodes, self._words, whole=acts and not self._ran))
        unused, guessed = self._unused(nodes), self._guessed(nodes)
        return len(found) + _WEIGHT * (len(unused) + len(guessed))

    def question(self, text: str) -> str:
        """
        Return why a program is not run as it is; empty where it is run.

        :param text: of a program that can be read
        """
        nodes = parts(text)
        reason = self._once(self._words.unused, self._unused(nodes)) or self._once(
            self._words.guessed, self._guessed(nodes))
        if not reason:
            self._ran = True
            self._used += [*self._values(nodes), *self._told(nodes)]
        return reason

    def _unused(self, nodes: Sequence[ast.AST]) -> list[str]:
        """Return what the goal names and neither this program nor those before it use."""
        if self._only_says_no(nodes):
            return []
        known = named([*self._used, *self._values(nodes), *self._told(nodes)], self._names)
        return [value for value in self._due if value not in known]

    def _guessed(self, nodes: Sequence[ast.AST]) -> list[str]:
        """Return the values of a program of which nobody spoke."""
        if self._only_says_no(nodes):
            return []
        heard = named(self._heard, self._names)
        return [value for value in dict.fromkeys(self._values(nodes))
                if value in self._names and value not in heard]

    def _only_says_no(self, nodes: Sequence[ast.AST]) -> bool:
        kinds = {called(node) for node in nodes}
        return not kinds & self._tools.keys() and bool(kinds & (ENDINGS - {DONE}))

    def _values(self, nodes: Sequence[ast.AST]) -> list[str]:
        """Return its texts; without those of its endings, where it makes calls."""
        calls = any(called(node) in self._tools for node in nodes)
        spoken = {id(part) for node in nodes if calls and called(node) in ENDINGS
                  for part in ast.walk(node)}
        return texts(node for node in nodes if id(node) not in spoken)

    def _told(self, nodes: Sequence[ast.AST]) -> list[str]:
        """Return what the functions that it calls are said to do."""
        return [self._tools[name].description for name in map(called, nodes)
                if name in self._tools]

    def _once(self, words: str, values: Sequence[str]) -> str:
        if not values or words in self._asked:
            return ''
        self._asked.add(words)
        return words.format(names=' and '.join(values))
