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

"""What happened to the robot, and patterns of it that a person can read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Any

# Letters are those of ASCII, so that \b is between a number and the Chinese text around it.
FLAGS = re.IGNORECASE | re.ASCII
# Calls whose detail is prose: a pattern is searched in it, and need not be all of it.
_PROSE = re.compile(r'say|show_\w+|play_\w+|log_\w+')


@dataclass(frozen=True)
class Event:
    """
    Something that was asked of the robot, as the robot itself tells it.

    :param detail: the place, the state, the object or the text
    :param place: where the robot was
    """

    call: str
    detail: str = ''
    place: str = ''
    done: bool = True

    @property
    def prose(self) -> bool:
        """Say whether the detail is a text for people."""
        return _PROSE.fullmatch(self.call) is not None

    @property
    def sort(self) -> tuple[str, str]:
        """Return what two events that do the same have in common."""
        if self.call == 'put_down':
            return self.call, ''
        return self.call, self.place if self.call == 'say' else '' if self.prose else self.detail

    def __str__(self) -> str:
        mark = '' if self.done else ' (failed)'
        return ' '.join(filter(None, (self.call, self.detail, f'@{self.place}'))) + mark


@dataclass(frozen=True)
class Pattern:
    """
    ``CALL [DETAIL] [@PLACE]``: DETAIL and PLACE are regular expressions, without them anything is.

    ``set_lights on @gym`` are the lights that go on in the gym; ``say lunch|dinner @lab`` is
    something said in the lab with one of these words; ``*`` is any event.
    """

    call: str
    detail: re.Pattern[str] | None = None
    place: re.Pattern[str] | None = None

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """
        Read a pattern.

        :raises ValueError: if it is none
        """
        found = re.fullmatch(r'(\*|[a-z][a-z0-9_]*)(?: +([^@]*?))?(?: *@(\S+))?', text.strip())
        if found is None:
            raise ValueError(f'{text!r} is no pattern like: CALL DETAIL @PLACE')
        call, detail, place = found.groups()
        if call == '*' and (detail or place):
            raise ValueError(f'{text!r}: * stands for any event and takes nothing with it')
        return cls(call, re.compile(detail, FLAGS) if detail else None,
                   re.compile(place) if place else None)

    def matches(self, event: Event) -> bool:
        """Say whether an event is of this pattern; an unknown place or detail is none."""
        if self.call == '*':
            return True
        if self.call != event.call:
            return False
        if self.place is not None and not self.place.fullmatch(event.place):
            return False
        if self.detail is None:
            return True
        find = self.detail.search if event.prose else self.detail.fullmatch
        return find(event.detail) is not None


def events_of(records: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """Return events from what the robot tells."""
    return tuple(Event(**record) for record in records)


def in_order(patterns: Sequence[str], events: Sequence[Event]) -> str:
    """Return the first pattern that no event matches after those before it; empty if all do."""
    rest = iter(events)
    for text in patterns:
        pattern = Pattern.parse(text)
        if not any(pattern.matches(event) for event in rest):
            return text
    return ''
