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

"""YAML read strictly: what a person did not mean is an error, not a surprise at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from pathlib import Path
import re
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
import yaml

Where = tuple[str | int, ...]

_MAX_BYTES = 4 << 20
_MAX_NODES = 200_000
_MAX_DEPTH = 32
_MAX_KEYS = 256  # of a mapping; of tools, too
_MAX_ITEMS = 4096  # of a list
_MAX_TEXT = 1 << 16  # characters
_MAX_KEY = 128
_MAX_NUMBER = 64
# libyaml compares each %TAG with all before it.
_DIRECTIVE = re.compile('^%', re.M)
_NO_TEXT = re.compile('[\0\ud800-\udfff]')
# Of YAML 1.1 are `on` for true, 010 for 8, 12:30 for 750, and dates; nobody means them here.
_BOOL = re.compile('true|True|TRUE|false|False|FALSE')
_NULL = re.compile('null|Null|NULL|~|')
_INT = re.compile('[-+]?(0|[1-9][0-9]*)')
_FLOAT = re.compile(r'[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?')
# The same events from both; without libyaml they only come more slowly.
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Wrong(Exception):
    """Raised with the line and what is wrong there."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True)
class YamlDocument:
    """
    What a file holds.

    :param lines: where each key and each item stands, by its path
    """

    value: dict[str, Any]
    lines: Mapping[Where, int]


@dataclass
class _Open:
    """A mapping or a list that is not complete yet; the key whose value comes next, if any."""

    made: dict[str, Any] | list[Any]
    where: Where
    key: str | None = None


@dataclass
class _Builder:
    """Makes values of events, one after the other, so that nothing wrong is ever walked whole."""

    open: list[_Open] = field(default_factory=list)
    lines: dict[Where, int] = field(default_factory=dict)
    root: list[Any] = field(default_factory=list)
    nodes: int = 0

    def take(self, event: Any) -> None:
        """Take an event; raises _Wrong where it is not allowed."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise _Wrong(line, 'aliases (*name) are not allowed: write the values out')
        if isinstance(event, yaml.DocumentStartEvent) and self.root:
            raise _Wrong(line, 'only one document is allowed in a file')
        if isinstance(event, yaml.CollectionEndEvent):
            self.open.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._take_node(event, line)

    def _take_node(self, event: Any, line: int) -> None:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _Wrong(line, f'the file holds more than {_MAX_NODES} values')
        if event.tag is not None:
            raise _Wrong(line, f'the tag {event.tag[:40]!r} is not allowed')
        scalar = isinstance(event, yaml.ScalarEvent)
        inside = self.open[-1] if self.open else None
        if inside is not None and isinstance(inside.made, dict) and inside.key is None:
            self._take_key(inside, _scalar(event, line) if scalar else {}, line)
            return
        if scalar:
            self._add(_scalar(event, line), line)
        else:
            made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            where = self._add(made, line)
            if len(self.open) >= _MAX_DEPTH:
                raise _Wrong(line, f'the file is nested too deeply: {_MAX_DEPTH} levels at most')
            self.open.append(_Open(made, where))

    def _take_key(self, inside: _Open, key: Any, line: int) -> None:
        made = inside.made
        if not isinstance(key, str):
            raise _Wrong(line, f'the key {key!r} is {type(key).__name__}, not text: quote it')
        if len(key) > _MAX_KEY:
            raise _Wrong(line, f'the key {key[:20] + "…"!r} is longer than {_MAX_KEY} characters')
        if key in made:
            first = self.lines[(*inside.where, key)]
            raise _Wrong(line, f'the key {key!r} is there twice; first in line {first}')
        if len(made) >= _MAX_KEYS:
            name = '.'.join(map(str, inside.where)) or 'the file'
            raise _Wrong(line, f'{name}: more than {_MAX_KEYS} keys')
        inside.key = key
        self.lines[(*inside.where, key)] = line

    def _add(self, value: Any, line: int) -> Where:
        """Put a value where the next one belongs and return its path."""
        if not self.open:
            self.root.append(value)
            return ()
        inside = self.open[-1]
        if isinstance(inside.made, dict):
            assert inside.key is not None
            where = (*inside.where, inside.key)
            inside.made[inside.key], inside.key = value, None
            return where
        if len(inside.made) >= _MAX_ITEMS:
            raise _Wrong(line, f'a list has more than {_MAX_ITEMS} items')
        where = (*inside.where, len(inside.made))
        inside.made.append(value)
        self.lines[where] = line
        return where


def _scalar(event: Any, line: int) -> Any:
    """Return the value of a scalar by the rules of YAML 1.2, without NaN and infinities."""
    text: str = event.value
    if len(text) > _MAX_TEXT:
        raise _Wrong(line, f'a text has {len(text)} characters; {_MAX_TEXT} are allowed')
    if _NO_TEXT.search(text):
        raise _Wrong(line, 'a text holds a character that cannot be sent (NUL or half a pair)')
    if not event.implicit[0] or _NULL.fullmatch(text):
        return text if not event.implicit[0] else None
    if _BOOL.fullmatch(text):
        return text in ('true', 'True', 'TRUE')
    if _FLOAT.fullmatch(text):  # what is an integer, too
        if len(text) > _MAX_NUMBER:
            raise _Wrong(line, f'a number has more than {_MAX_NUMBER} digits')
        if _INT.fullmatch(text):
            return int(text)
        if not math.isfinite(float(text)):
            raise _Wrong(line, f'the number {text} is too large')
        return float(text)
    return text


def read_document(path: str) -> YamlDocument:
    """
    Read a YAML file that holds a mapping, and remember where everything stands.

    :raises ConfigError: with file, line and reason
    """
    text = _read_text(path)
    builder = _Builder()
    try:
        directive = _DIRECTIVE.search(text)
        if directive:
            raise _Wrong(text.count('\n', 0, directive.start()) + 1,
                         'directives (lines that begin with %) are not allowed')
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except _Wrong as wrong:
        raise ConfigError(f'{path}, line {wrong.line}: {wrong}.') from None
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        line = f', line {mark.line + 1}' if mark else ''
        raise ConfigError(f'{path}{line}: {getattr(error, "problem", None) or error}.') from None
    value = builder.root[0] if builder.root else None
    if not isinstance(value, dict):
        raise ConfigError(f'{path}: a mapping was expected, not {type(value).__name__}.')
    return YamlDocument(value, builder.lines)


def _read_text(path: str) -> str:
    file = Path(path)
    try:
        if not file.is_file():
            raise ConfigError(f'{path}: cannot be read: there is no such file.')
        if file.stat().st_size > _MAX_BYTES:
            raise ConfigError(f'{path}: the file is larger than {_MAX_BYTES >> 20} MiB.')
        return file.read_text(encoding='utf-8')
    except OSError as error:
        raise ConfigError(f'{path}: cannot be read: {error.strerror}.') from error
    except UnicodeDecodeError as error:
        raise ConfigError(f'{path}: is not UTF-8 (byte {error.start}).') from error
    except ValueError as error:
        raise ConfigError(f'{path!r}: is not a path: {error}.') from error


def read_yaml(path: str) -> dict[str, Any]:
    """
    Read a YAML file that holds a mapping.

    :raises ConfigError: with file, line and reason
    """
    return read_document(path).value
