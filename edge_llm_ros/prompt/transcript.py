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

"""One conversation as tokens: the prefix, then messages that are only ever appended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import enum

Tokens = tuple[int, ...]


class MessageKind(enum.IntEnum):
    """Who says a message."""

    INSTRUCTION = 1
    CALL = 2
    OBSERVATION = 3


@dataclass(frozen=True)
class Message:
    """
    One message.

    :param text: of an instruction, which can be written anew
    """

    kind: MessageKind
    tokens: Tokens
    text: str = ''


class Transcript:
    """
    The messages of a conversation.

    History is never written again, with one exception: where old messages are dropped, so that all
    that follows is evaluated again anyway, the instruction that is then the first is.

    :param prefix: the pinned tokens
    """

    def __init__(self, prefix: Tokens) -> None:
        self._prefix = prefix
        self._messages: list[Message] = []
        self.tokens = prefix

    def __len__(self) -> int:
        return len(self._messages)

    def before_last(self) -> Tokens:
        """Return the conversation without its last message."""
        last = len(self._messages[-1].tokens) if self._messages else 0
        return self.tokens[:len(self.tokens) - last]

    def append(self, message: Message) -> None:
        """Append a message."""
        self._messages.append(message)
        self.tokens += message.tokens

    def can_shorten(self, room: int, first: Callable[[str], Tokens]) -> bool:
        """Say whether shorten() would find a way into some room."""
        return self._way(room, room, first) is not None

    def shorten(self, room: int, target: int, first: Callable[[str], Tokens]) -> tuple[int, int]:
        """
        Drop the oldest messages.

        Goals that are over go first. Only if that is not enough, the oldest steps of the current
        one go, a call and what came of it together; its instruction and its last step stay.

        :param room: tokens after the prefix that may stay
        :param target: tokens to come down to, if possible, so that it does not happen every turn
        :param first: returns the tokens of an instruction's text as the first message, with a
            note about what is missing
        :returns: how many messages were dropped, and how many tokens the first one has more; 0
            and 0 where there is no way
        """
        kept = self._way(room, target, first)
        if kept is None:
            return 0, 0
        dropped, before = len(self._messages) - len(kept), len(self._oldest(kept).tokens)
        self._messages = kept
        self.tokens = sum((message.tokens for message in kept), self._prefix)
        return dropped, max(0, len(kept[0].tokens) - before)

    def _oldest(self, kept: list[Message]) -> Message:
        return next(m for m in self._messages if m.text == kept[0].text
                    and m.kind is MessageKind.INSTRUCTION)

    def _way(self, room: int, target: int, first: Callable[[str], Tokens]
             ) -> list[Message] | None:
        """Return what is kept; None where nothing fits."""
        goals, steps = self._ways()
        for ways, most in ((goals, target), (goals[-1:], room), (steps, target), (steps, room)):
            for way in ways:
                kept = [Message(MessageKind.INSTRUCTION, first(way[0].text), way[0].text),
                        *way[1:]]
                if sum(len(message.tokens) for message in kept) <= most:
                    return kept
        return None

    def _ways(self) -> tuple[list[list[Message]], list[list[Message]]]:
        """Return what is left without finished goals, and of the current one, longest first."""
        messages = self._messages
        goals = [i for i, m in enumerate(messages) if m.kind is MessageKind.INSTRUCTION]
        if not goals:
            return [], []
        last = goals[-1]
        steps = [i for i, m in enumerate(messages) if m.kind is MessageKind.CALL and i > last]
        return ([messages[i:] for i in goals[1:]],
                [[messages[last], *messages[i:]] for i in steps[1:]])
