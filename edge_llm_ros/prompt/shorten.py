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

"""Tool results cut to a number of tokens before they enter a conversation."""

from __future__ import annotations

from collections.abc import Callable

_MOST_CHARACTERS = 16  # of a token; more than any text has on average


def shortened(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """
    Return a text, or its start with a mark where it is too long.

    :param tokens: at most, the mark included
    :param count: returns the tokens of a text
    """
    if len(text) <= tokens * _MOST_CHARACTERS and count(text) <= tokens:
        return text

    def cut(length: int) -> str:
        return f'{text[:length]} … [cut: the first {length} of {len(text)} characters]'

    low, high = 0, min(len(text), tokens * _MOST_CHARACTERS)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(cut(middle)) <= tokens else (low, middle - 1)
    return cut(low)
