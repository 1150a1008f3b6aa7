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

"""What of a generated text is frame, call and free text."""

from __future__ import annotations

from collections.abc import Sequence

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_grammar import is_free_text


def without_frame(text: str, frame: tuple[str, str]) -> str:
    """Return the call in a text that may not be complete yet."""
    opening, closing = frame
    before = forethought_of(text, frame)
    text = before + text[len(before):].removeprefix(opening)
    for length in range(len(closing), 0, -1):
        if text.endswith(closing[:length]):
            return text[:-length].strip()
    return text.strip()


def forethought_of(text: str, frame: tuple[str, str]) -> str:
    """Return what stands before the call in a text that may not be complete yet."""
    # Neither can be part of it: its grammar has no such characters.
    before, found, _ = text.partition(frame[0] or '{')
    return before if found or text and text[0] not in (frame[0] or '{') else ''


def free_text_tokens(pieces: Sequence[bytes], frame: tuple[str, str], tool: ToolSchema,
                     call: ToolCall, before: str = '') -> tuple[list[bool], list[bool]]:
    """
    Say for each token of a turn whether it is counted as generated, and whether as free text.

    The frame of the call is not; what stands before the call is both.

    :param pieces: the bytes of each token
    :param before: what stands before the call
    :returns: two lists as long as ``pieces``
    """
    text = b''.join(pieces)
    first = len(before.encode())
    start, end = first + len(frame[0].encode()), len(text) - len(frame[1].encode())
    spans = []
    for name, value in call.arguments.items():
        schema = tool.parameters['properties'].get(name, {})
        if isinstance(value, str) and is_free_text(schema):
            key = canonical_json(name).encode() + b': "'
            at = text.find(key, start)
            if at >= 0:
                spans.append((at + len(key), _string_end(text, at + len(key))))
    inside, in_text, at = [], [], 0
    for piece in pieces:
        to = at + len(piece)
        ahead = to <= first
        inside.append(ahead or at >= start and to <= end)
        in_text.append(ahead or any(at < last and to > begin for begin, last in spans))
        at = to
    return inside, in_text


def _string_end(text: bytes, at: int) -> int:
    """Return where a JSON string ends whose first character is at ``at``."""
    while at < len(text) and text[at:at + 1] != b'"':
        at += 2 if text[at:at + 1] == b'\\' else 1
    return at
