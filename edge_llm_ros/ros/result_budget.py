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

"""What is told of a message, cut to a number of characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.ros.plain_value import PlainValues

NULL_MEANS = 'null_means'  # the key under which is told what each null stands for
LEFT_OUT = 'left_out'  # the key under which the names of fields are told that had no room
# The default of observation_tokens at four characters a token; the prompt cuts by tokens after it.
MAX_CHARACTERS = 2048
_DETAILS = ((16, 512), (6, 160), (2, 60))  # items of a list and characters of a text, while long


def within(characters: int, tell: Callable[[PlainValues], Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return fields in as much detail as there is room for; the longest go where there is too little.

    :param characters: of the fields as JSON, at most
    :param tell: returns the fields as plain values
    """
    result: dict[str, Any] = {}
    for max_items, max_text in _DETAILS:
        values = PlainValues(max_items, max_text)
        result = dict(tell(values))
        if values.marks:
            result[NULL_MEANS] = values.marks
        if _length(result) <= characters:
            return result
    left_out: list[str] = []
    while _length({**result, LEFT_OUT: left_out}) > characters and result:
        # What the nulls stand for goes last.
        longest = max(result, key=lambda name: (name != NULL_MEANS, _length(result[name])))
        del result[longest]
        left_out.append(longest)
    return {**result, LEFT_OUT: left_out}


def _length(value: Any) -> int:
    return len(canonical_json(value))


def plain_message(message: Any, characters: int = MAX_CHARACTERS) -> dict[str, Any]:
    """Return all fields of a message."""
    return within(characters, lambda values: values.message(message))
