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
Messages as bytes: one frame each, bounded, checked field by field.

A frame is a header, a JSON object, and a block of raw bytes. Lists of tokens and bytes go into the
block: a prompt of 8,000 tokens is 32 kB there, and takes microseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
import enum
from functools import partial
import json
import struct
from typing import Any, get_args, get_origin, get_type_hints

from edge_llm_ros.engine import messages
from edge_llm_ros.flow.engine import Completion, GenerateRequest, PrefillProgress, TokensProgress
from edge_llm_ros.flow.errors import EngineError

MAX_BYTES = 64 << 20  # of a frame
_HEADER = struct.Struct('<IIIB')  # bytes of the object, bytes of the block, call, kind
_TOKEN_BYTES = 4
# A message's kind is its place here: append only.
_KINDS: tuple[type, ...] = (
    messages.Load, messages.WarmUp, GenerateRequest, messages.Cancel, messages.Pin,
    messages.Release, messages.Tokenize, messages.Detokenize, messages.CheckGrammar,
    messages.MeasuredBatches, messages.CheckIntegrity, messages.Close, messages.Loading,
    messages.Loaded, PrefillProgress, TokensProgress, Completion, messages.Tokens,
    messages.Pieces, messages.Costs, messages.Done, messages.Failed, messages.LogLine)


class WireError(EngineError):
    """Raised when a frame cannot be made, or is none."""


@dataclass(frozen=True)
class _Layout:
    """Where the fields of a message are: tokens and bytes in the block, others in the object."""

    kind: int
    plain: Mapping[str, Callable[[Any], Any]]
    tokens: tuple[str, ...]
    data: tuple[str, ...]


def _exactly(kind: type, value: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f'{value!r:.40} is no {kind.__name__}')
    return value


def _enumerated(kind: type[enum.Enum], value: Any) -> Any:
    return kind(_exactly(int, value))


def _list(item: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    return tuple(map(item, _exactly(list, value)))


def _object(kind: Any, fields_of: Mapping[str, Callable[[Any], Any]], value: Any) -> Any:
    if _exactly(dict, value).keys() != fields_of.keys():
        raise ValueError(f'the fields of {kind.__name__} are {", ".join(fields_of) or "none"}')
    return kind(**{name: check(value[name]) for name, check in fields_of.items()})


def _check(hint: Any) -> Callable[[Any], Any]:
    """Return what makes a value of a type from JSON, or raises ValueError or TypeError."""
    if get_origin(hint) is tuple:
        return partial(_list, _check(get_args(hint)[0]))
    if is_dataclass(hint):
        return partial(_object, hint, {n: _check(h) for n, h in _hints(hint).items()})
    if issubclass(hint, enum.Enum):
        return partial(_enumerated, hint)
    if hint not in (bool, int, float, str):
        raise TypeError(f'{hint} cannot be sent')
    return partial(_exactly, hint)


def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _layout(number: int, kind: type) -> _Layout:
    hints = _hints(kind)
    tokens = tuple(name for name, hint in hints.items() if hint == tuple[int, ...])
    data = tuple(name for name, hint in hints.items() if hint is bytes)
    plain = {n: _check(h) for n, h in hints.items() if n not in tokens + data}
    return _Layout(number, plain, tokens, data)


_LAYOUTS = {kind: _layout(number, kind) for number, kind in enumerate(_KINDS)}


def _plain(value: Any) -> Any:
    """Return what stands for a dataclass, or a list of them, in JSON."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def encode(call: int, message: Any) -> bytes:
    """
    Return the frame of a message.

    :param call: number of the call that it belongs to; 0 for none
    :raises WireError: if it is too large, or a token is no number of 32 bits
    """
    layout = _LAYOUTS[type(message)]
    content = {name: _plain(getattr(message, name)) for name in layout.plain}
    try:
        blocks = [array('i', getattr(message, name)).tobytes() for name in layout.tokens]
    except (OverflowError, TypeError) as error:
        raise WireError(f'{type(message).__name__}: a token is no number of 32 bits: {error}.'
                        ) from None
    blocks += [getattr(message, name) for name in layout.data]
    if blocks:
        content['bytes'] = list(map(len, blocks))
    text, block = json.dumps(content, separators=(',', ':')).encode(), b''.join(blocks)
    if len(text) + len(block) > MAX_BYTES:
        raise WireError(f'{type(message).__name__} of {len(text) + len(block)} bytes: '
                        f'{MAX_BYTES} can be sent to the engine at most.')
    return b''.join((_HEADER.pack(len(text), len(block), call, layout.kind), text, block))


def _decode(kind: int, text: bytes, block: bytes) -> Any:
    """Return a message; raises ValueError, TypeError, KeyError or RecursionError."""
    message = _KINDS[kind]
    layout = _LAYOUTS[message]
    content = _exactly(dict, json.loads(text))
    raw = layout.tokens + layout.data
    sizes = _list(partial(_exactly, int), content.pop('bytes')) if raw else ()
    if len(sizes) != len(raw) or sum(sizes) != len(block) or any(size < 0 for size in sizes):
        raise ValueError(f'blocks of {sizes} bytes are not {len(block)} bytes of {raw}')
    values: dict[str, Any] = {}
    start = 0
    for name, size in zip(raw, sizes):
        part, start = block[start:start + size], start + size
        values[name] = part if name in layout.data else _tokens(part)
    plain = _object(dict, layout.plain, content)
    return message(**plain, **values)


def _tokens(block: bytes) -> tuple[int, ...]:
    if len(block) % _TOKEN_BYTES:
        raise ValueError(f'{len(block)} bytes are no tokens')
    numbers = array('i')
    numbers.frombytes(block)
    return tuple(numbers)


class Unframer:
    """Puts what came through a pipe together to messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, Any]]:
        """
        Yield the calls and messages that are complete now.

        :raises WireError: at what is no frame
        """
        self._buffer += data
        while len(self._buffer) >= _HEADER.size:
            text, block, call, kind = _HEADER.unpack_from(self._buffer)
            if kind >= len(_KINDS) or text + block > MAX_BYTES:
                raise WireError(
                    f'a frame of kind {kind} with {text + block} bytes is none of this version.')
            start, end = _HEADER.size, _HEADER.size + text + block
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[start:end])
            del self._buffer[:end]
            try:
                message = _decode(kind, frame[:text], frame[text:])
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise WireError(f'a frame is no {_KINDS[kind].__name__}: {error!r:.200}.'
                                ) from None
            yield call, message
