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

"""What tells one model file from another, without reading all of it every time."""

from __future__ import annotations

from collections.abc import Mapping
import json
import logging
import os
from pathlib import Path
import tempfile
from typing import Any

import xxhash

logger = logging.getLogger(__name__)

_FILE = 'models.json'
_KEPT = 64  # model files remembered
_HEADER_BYTES = 1 << 23  # a GGUF header with a vocabulary of 152 k takes six millions
_BLOCKS, _BLOCK_BYTES = 16, 1 << 16


def sample(path: str) -> dict[str, Any]:
    """Return size, modification time, and a hash of the header and of blocks over the file."""
    stat = os.stat(path)
    digest = xxhash.xxh3_128()
    with open(path, 'rb') as file:
        digest.update(file.read(_HEADER_BYTES))
        for i in range(_BLOCKS):
            file.seek(max(0, (stat.st_size - _BLOCK_BYTES) * i // (_BLOCKS - 1)))
            digest.update(file.read(_BLOCK_BYTES))
    return {'bytes': stat.st_size, 'modified': stat.st_mtime_ns, 'sample_xxh3': digest.hexdigest()}


def full_hash(path: str) -> str:
    """Return the hash of all of a file."""
    digest = xxhash.xxh3_128()
    with open(path, 'rb') as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return str(digest.hexdigest())


class ModelFingerprints:
    """
    The hashes of model files, each read in full once and then known by its sample.

    :param folder: keeps what is known; is made when something is saved
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def of(self, path: str) -> dict[str, Any]:
        """Return what a file is: equal for equal contents, whatever its name and time are."""
        seen = sample(path)
        name = f'{seen["bytes"]}-{seen["modified"]}-{seen["sample_xxh3"]}'
        known = self._read()
        value = known.get(name)
        if not isinstance(value, str):
            value = full_hash(path)
            self._write({**known, name: value})
        return {'bytes': seen['bytes'], 'sample_xxh3': seen['sample_xxh3'], 'xxh3': value}

    def _read(self) -> Mapping[str, Any]:
        try:
            known = json.loads((self._folder / _FILE).read_text())
            return known if isinstance(known, dict) else {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            logger.warning('%s: %s; model files are hashed again', self._folder / _FILE, error)
            return {}

    def _write(self, known: Mapping[str, Any]) -> None:
        text = json.dumps(dict(list(known.items())[-_KEPT:]), indent=1)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile('w', dir=self._folder, delete=False) as file:
                file.write(text)
            os.replace(file.name, self._folder / _FILE)
        except OSError as error:
            logger.warning('%s cannot be written: %s', self._folder / _FILE, error)
