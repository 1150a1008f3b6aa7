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

"""What speaks against a program that can be read, as far as it can be seen without running it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import re
import unicodedata

from edge_llm_ros.program.language import ENDINGS
from edge_llm_ros.program.syntax import called, texts
from edge_llm_ros.prompt.named_values import mentions
from edge_llm_ros.prompt.words import Words

_HAN = re.compile(r'[\u3400-\u9fff]')
_LETTERS = re.compile(r'[A-Za-z]{3}')
_NUMBER = re.compile(r'\d+(?:\.\d+)?')
_QUOTED = re.compile(r'"([^"]{2,})"|“([^”]{2,})”|«([^»]{2,})»|「([^」]{2,})」')
_PLACEHOLDER = re.compile(r'\[[^\]]*\]|<[^>]*>|\bX{2,}\b|_{2,}|\.{3}|…|\bunknown\b')
_WORD = 4  # Chinese characters of a name at most
_ECHO_SHARE = 0.9  # of the goal's characters, from which on a text only repeats it


@dataclass(frozen=True)
class Draft:
    """
    A program and what it was written for.

    :param text: as the model wrote it
    :param nodes: all of its syntax tree
    :param whole: whether it is to do all that the goal says: it makes calls, and no other program
        did a part before
    """

    goal: str
    text: str
    nodes: Sequence[ast.AST]
    words: Words
    whole: bool

    @property
    def said(self) -> str:
        """Return the goal without what it quotes."""
        return _QUOTED.sub('', self.goal)

    def endingtexts(self) -> list[str]:
        """Return what its endings tell, without the values that are filled in."""
        return [''.join(texts(ast.walk(node))) for node in self.nodes if called(node) in ENDINGS]


def doubts(draft: Draft) -> list[str]:
    """Return what speaks against a program, by the names of the tests below."""
    return [test.__name__.strip('_') for test in _TESTS if test(draft)]


def _other_language(draft: Draft) -> bool:
    """Whether it answers a Chinese goal in English, or the other way round."""
    chinese = bool(_HAN.search(draft.said))
    return any(not _HAN.search(text) if chinese else bool(_HAN.search(text))
               for text in draft.endingtexts() if _HAN.search(text) or _LETTERS.search(text))


def _lost_number(draft: Draft) -> bool:
    """Whether the goal has a number in figures that the program has not."""
    goal, text = (unicodedata.normalize('NFKC', part) for part in (draft.goal, draft.text))
    return draft.whole and any(number not in text for number in _NUMBER.findall(goal))


def _lost_quotation(draft: Draft) -> bool:
    """Whether the goal quotes what the program does not say."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(draft.goal)]
    return draft.whole and any(_plain(text) not in _plain(draft.text) for text in quoted)


def _lost_condition(draft: Draft) -> bool:
    """Whether the goal has a condition, and the program does the same in any case."""
    return draft.whole and any(
        mentions(draft.said, word) for word in draft.words.branching) and not any(
            isinstance(node, ast.If) for node in draft.nodes)


def _unused_value(draft: Draft) -> bool:
    """Whether it reads something and makes nothing of it."""
    names = [node for node in draft.nodes if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    counters = [node.target for node in draft.nodes if isinstance(node, ast.For)]
    return any(isinstance(node.ctx, ast.Store) and node.id not in used and node not in counters
               for node in names)


def _echo(draft: Draft) -> bool:
    """Whether a text of several words is the goal itself."""
    goal = _plain(draft.goal)
    return any(len(_plain(text)) >= _ECHO_SHARE * len(goal) and _plain(text) in goal
               for text in texts(draft.nodes) if ' ' in text or len(_HAN.findall(text)) > _WORD)


def _placeholder(draft: Draft) -> bool:
    """Whether a text has a gap where a word should be."""
    return any(_PLACEHOLDER.search(text) and not _PLACEHOLDER.search(draft.goal)
               for text in texts(draft.nodes))


_TESTS: Sequence[Callable[[Draft], bool]] = (
    _other_language, _lost_number, _lost_quotation, _lost_condition, _unused_value, _echo,
    _placeholder)


def _plain(text: str) -> str:
    return ''.join(re.findall(r'\w', text.lower()))
