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

"""
Argument values of every field type, with what must arrive of each, or that nothing may.

It knows types by the strings of a message's own description and shares no code with the planner.
"""

import random
import re
import struct
from typing import Any

INTEGERS = {f'{sign}int{bits}': (0 if sign else -(1 << bits - 1),
                                 (1 << bits - (not sign)) - 1)
            for sign in ('u', '') for bits in (8, 16, 32, 64)}
TEXTS = ('', 'lab', 'Grüße', '厨房', '🤖 ok', '"quoted"', "it's", 'a\\b', 'line\nline', '<|im_end|>')
WRONG_NUMBERS = (True, False, None, '1', '', float('nan'), float('inf'), -float('inf'), [1], {})
WRONG_TEXTS = (None, 5, 1.5, True, ['a'], {}, 'a\0b', '\ud800', 'x\udfff')
LIST = re.compile(r'(?:sequence<(?P<of>[^,]+)(?:, (?P<most>\d+))?>|(?P<each>.+)\[(?P<size>\d+)\])')
MOST_ITEMS = 16  # that a model may give of a list without a bound


class Values:
    """
    Makes values.

    :param generator: of the choices
    :param types: fields of a message type, by its name
    """

    def __init__(self, generator: random.Random, types: Any) -> None:
        self._random = generator
        self._types = types

    def right(self, kind: str) -> tuple[Any, Any]:
        """Return a value that a field of this type holds, and what arrives of it."""
        found = LIST.fullmatch(kind)
        if found:
            items = [self.right(found['of'] or found['each']) for _ in range(self._length(found))]
            return [value for value, _ in items], [there for _, there in items]
        if kind in ('builtin_interfaces/Time', 'builtin_interfaces/Duration'):
            return self._seconds(kind.endswith('Duration'))
        if '/' in kind:
            fields = {name: self.right(of) for name, of in self._types(kind).items()}
            return ({name: value for name, (value, _) in fields.items()},
                    {name: there for name, (_, there) in fields.items()})
        return self._basic(kind)

    def _length(self, found: Any) -> int:
        if found['size']:
            return int(found['size'])
        return self._random.randint(0, int(found['most'] or self._random.choice((2, MOST_ITEMS))))

    def _basic(self, kind: str) -> tuple[Any, Any]:
        pick = self._random.choice
        if kind == 'boolean':
            value = pick((True, False))
            return value, value
        if kind in INTEGERS or kind == 'octet':
            low, high = INTEGERS.get(kind, (0, 255))
            value = pick((low, high, low + 1, high - 1, self._random.randint(low, high),
                          min(high, 1 << 53), 0, 1))
            written = float(value) if abs(value) < 1 << 53 and pick((True, False)) else value
            return written, {'byte': [value]} if kind == 'octet' else value
        if kind in ('float', 'double'):
            return self._float(kind == 'float')
        text = pick(TEXTS) + 'z' * pick((0, 1, 5))
        bound = re.fullmatch(r'w?string<(\d+)>', kind)
        if not bound:
            text += 'y' * pick((0, 0, 300))
        elif pick((True, False)):
            text = 'b' * int(bound[1])
        return text, text

    def _float(self, single: bool) -> tuple[Any, Any]:
        pick = self._random.choice
        large, small = (3.4028232635611926e38, 1e-45) if single else (
            1.7976931348623157e308, 5e-324)
        value = pick((0, 0.0, -0.0, 1, -7, 0.1, large, -large, small, 1 << (24 if single else 53),
                      self._random.uniform(-10, 10), self._random.gauss(0, 1e6)))
        there = struct.unpack('<f', struct.pack('<f', value))[0] if single else float(value)
        return value, {'float': there.hex()}

    def _seconds(self, may_be_negative: bool) -> tuple[Any, Any]:
        whole = self._random.choice((0, 1, 59, self._random.randrange(1 << 20), (1 << 31) - 1))
        milli = self._random.choice((0, 1, 100, 999, self._random.randrange(1000)))
        if may_be_negative and self._random.random() < 0.3:
            # −2.25 s is −3 s and 0.75 s: nanoseconds only ever go forward.
            whole, milli = self._random.randrange(1000), self._random.randrange(1, 1000)
            return float(f'-{whole}.{milli:03d}'), {
                'sec': -whole - 1, 'nanosec': (1000 - milli) * 1_000_000}
        written = float(f'{whole}.{milli:03d}') if milli else whole
        return written, {'sec': whole, 'nanosec': milli * 1_000_000}

    def wrong(self, kind: str) -> Any:
        """Return a value that a field of this type does not hold."""
        pick = self._random.choice
        found = LIST.fullmatch(kind)
        if found:
            return self._wrong_list(kind, found)
        if kind in ('builtin_interfaces/Time', 'builtin_interfaces/Duration'):
            low = -1 if kind.endswith('Time') else -(1 << 31) - 1
            return pick((*WRONG_NUMBERS, low, low - 0.5, 1 << 31, 1e300, 10**400, 1e-10))
        if '/' in kind:
            return self._wrong_message(kind)
        if kind == 'boolean':
            return pick((0, 1, 0.0, 'true', 'false', '', None, [], {}))
        if kind in INTEGERS or kind == 'octet':
            low, high = INTEGERS.get(kind, (0, 255))
            return pick((*WRONG_NUMBERS, low - 1, high + 1, 0.5, 1 << 70, float(1 << 53) if high >
                         1 << 53 else -1e30, 1e300))
        if kind in ('float', 'double'):
            large = (1e39, -1e39, 3.4028236e38, 3.4028234663852886e38, 1e-60, 16777217)
            if kind == 'double':
                large = ((1 << 53) + 1, 10**309)
            return pick((*WRONG_NUMBERS, 10**400, *large))
        bound = re.fullmatch(r'w?string<(\d+)>', kind)
        long = ('x' * (int(bound[1]) + 1), 'ä' * int(bound[1])) if bound else ()
        return pick((*WRONG_TEXTS, *long))

    def _wrong_list(self, kind: str, found: Any) -> Any:
        value, _ = self.right(kind)
        each = found['of'] or found['each']
        size = int(found['size'] or 0)
        most = int(found['most'] or size or MOST_ITEMS)
        many = [self.right(each)[0] for _ in range(most + 1)]
        choices: list[Any] = [None, 'abc', 3, {'0': 1}, many, many[:size - 1] if size else many]
        if value:
            value[self._random.randrange(len(value))] = self.wrong(each)
            choices += [value] * 4
        return self._random.choice(choices)

    def _wrong_message(self, kind: str) -> Any:
        value, _ = self.right(kind)
        name = self._random.choice(list(value))
        way = self._random.randrange(4)
        if way == 0:
            return self._random.choice((None, 1, 'x', [], [value]))
        if way == 1:
            del value[name]
        elif way == 2:
            value['no_such_field'] = 1
        else:
            value[name] = self.wrong(self._types(kind)[name])
        return value
