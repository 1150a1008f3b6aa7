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
The evaluated prefix on disk, so that a restart does not evaluate it again.

llama.cpp's own state files know neither the model nor a checksum, and a truncated one aborts the
process. So the state is kept in a container of our own, and what does not match or verify never
reaches llama.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
from dataclasses import dataclass
import json
import logging
import os
from pathlib import Path
import struct
import tempfile
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

logger = logging.getLogger(__name__)

_MAGIC = b'EDGELLM1'
_LENGTH = struct.Struct('<Q')
_MAX_HEADER = 1 << 16
_SUFFIX = '.prefix'
_UNFINISHED = 'unfinished-'
_ABANDONED = 3600.0  # seconds after which an unfinished file is one of a power cut

State = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class PrefixKey:
    """
    What a state is valid for.

    :param facts: of the model's file, the engine and the context; all must be equal
    :param tokens: the prefix
    """

    facts: Mapping[str, Any]
    tokens: tuple[int, ...]

    def token_bytes(self) -> bytes:
        """Return the tokens as little-endian int32."""
        return np.asarray(self.tokens, '<i4').tobytes()

    @property
    def name(self) -> str:
        """Return the name of the file; a hash, which is only to find it."""
        text = json.dumps(dict(self.facts), sort_keys=True).encode()
        return str(xxhash.xxh3_128_hexdigest(text + self.token_bytes())) + _SUFFIX


class PrefixStore:
    """
    A folder of evaluated prefixes, the last used of them within a size.

    :param folder: is made when something is saved
    :param limit_bytes: of all files together
    """

    def __init__(self, folder: str, limit_bytes: int) -> None:
        self.folder = Path(folder)
        self._limit = limit_bytes

    def load(self, key: PrefixKey) -> State | None:
        """Return the state of a prefix; None, logged, where there is no good one."""
        path = self.folder / key.name
        try:
            if path.stat().st_size > self._limit:
                raise OSError(f'it is larger than {self._limit} bytes')
            data = np.fromfile(path, np.uint8)
            with contextlib.suppress(OSError):  # a folder that is read-only
                os.utime(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning('prefix file %s: %s; the prefix is evaluated again', path, error)
            return None
        problem, state = _verify(data, key)
        if problem:
            logger.warning('prefix file %s: %s; the prefix is evaluated again', path, problem)
            return None
        return state

    def save(self, key: PrefixKey, state: State) -> None:
        """Save a state, all of it or nothing; a disk that cannot take it is a line in the log."""
        tokens = key.token_bytes()
        header = json.dumps({
            'facts': dict(key.facts), 'tokens': len(key.tokens), 'state_bytes': len(state),
            'tokens_xxh3': xxhash.xxh3_128_hexdigest(tokens),
            'state_xxh3': xxhash.xxh3_128_hexdigest(state.data)}, sort_keys=True).encode()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                    dir=self.folder, prefix=_UNFINISHED, delete=False) as file:
                try:
                    file.write(_MAGIC + _LENGTH.pack(len(header)) + header + tokens)
                    file.write(state.data)
                    file.flush()
                    os.fsync(file.fileno())
                    os.replace(file.name, self.folder / key.name)
                    _sync(self.folder)
                except BaseException:
                    os.unlink(file.name)
                    raise
            self._remove_old()
        except OSError as error:
            logger.warning('the prefix cannot be saved in %s: %s', self.folder, error)

    def _remove_old(self) -> None:
        """Remove the files used longest ago until the rest is within the limit."""
        for path in self.folder.glob(f'{_UNFINISHED}*'):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink(missing_ok=True)
        files = [(path.stat(), path) for path in self.folder.glob(f'*{_SUFFIX}')]
        files.sort(key=lambda entry: entry[0].st_mtime_ns, reverse=True)
        total = 0
        for stat, path in files:
            total += stat.st_size
            if total > self._limit:
                path.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make sure that a rename in a folder survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _verify(data: State, key: PrefixKey) -> tuple[str, State]:
    """Return what is wrong with the content of a file, and the state in it."""
    nothing = np.empty(0, np.uint8)
    start = len(_MAGIC) + _LENGTH.size
    if data[:len(_MAGIC)].tobytes() != _MAGIC or len(data) < start:
        return 'is no prefix file', nothing
    length, = _LENGTH.unpack(data[len(_MAGIC):start].tobytes())
    if length > min(_MAX_HEADER, len(data) - start):
        return 'its header is damaged', nothing
    try:
        header = json.loads(data[start:start + length].tobytes())
        facts, count = header['facts'], int(header['tokens'])
        size, hashes = int(header['state_bytes']), (header['tokens_xxh3'], header['state_xxh3'])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 'its header is damaged', nothing
    if facts != dict(key.facts) or count != len(key.tokens):
        return 'is of another model, engine or prompt', nothing
    middle = start + length + 4 * count
    tokens, state = data[start + length:middle], data[middle:]
    if len(state) != size:
        return f'has {len(state)} bytes of state where {size} are due', nothing
    if tokens.tobytes() != key.token_bytes():
        return 'is of other tokens', nothing
    if hashes != tuple(xxhash.xxh3_128_hexdigest(part.data) for part in (tokens, state)):
        return 'its checksum is wrong', nothing
    return '', state
