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

"""Finds what a goal names and no call used: the place that was forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import re

from edge_llm_ros.flow.tool import ToolSchema

_FEWEST = 3  # values of an argument that are names; on and off are none
_SHORTEST = 3  # letters of a name that is looked for in a text


Names = Mapping[str, tuple[str, ...]]
"""What values of arguments are called, by the values."""


def nameable(tools: Sequence[ToolSchema]) -> Names:
    """
    Return the values of arguments that goals name: places, but not on and off.

    A value is named by itself, with spaces for its underscores, or by what stands in brackets
    after it in the description of the argument: ``lab (laboratory)``.
    """
    names: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        for schema in tool.parameters['properties'].values():
            values = [v for v in schema.get('enum', ()) if isinstance(v, str)]
            if len(values) >= _FEWEST:
                names.update((value, _names(value, schema)) for value in values)
    return names


def named(texts: Sequence[str], names: Names) -> list[str]:
    """Return the values that texts name."""
    return [value for value, words in names.items() if any(
        mentions(text, word) for text in texts for word in (value, *words))]


class NamedValues:
    """
    The values of arguments that a goal names.

    :param conditional: words of goals of which not everything that they name is to be done
    """

    def __init__(self, instruction: str, tools: Sequence[ToolSchema], conditional: Sequence[str]
                 ) -> None:
        self._names = nameable(tools)
        self._named = [] if any(mentions(instruction, word) for word in conditional) else (
            named([instruction], self._names))

    def unused(self, told: Sequence[str]) -> list[str]:
        """
        Return the named values that do not appear in some texts.

        :param told: calls with what came of them
        """
        used = named(told, self._names)
        return [value for value in self._named if value not in used]


def _names(value: str, schema: Mapping[str, object]) -> tuple[str, ...]:
    found = re.search(rf'\b{re.escape(value)} \(([^)]+)\)', str(schema.get('description', '')))
    names = [value.replace('_', ' '), *(found[1].split(', ') if found else ())]
    return tuple(name for name in names if len(name) >= _SHORTEST or not name.isascii())


def mentions(text: str, word: str) -> bool:
    """Say whether a word stands in a text; Chinese has no spaces between words."""
    pattern = rf'(?<![A-Za-z_]){re.escape(word)}(?![A-Za-z_])' if word.isascii() else (
        re.escape(word))
    return re.search(pattern, text, re.IGNORECASE) is not None
