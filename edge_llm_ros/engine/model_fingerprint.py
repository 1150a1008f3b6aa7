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

import os
from pathlib import Path
import re
from typing import Any

from edge_llm_ros.engine.json_file import JsonFile
import xxhash

_HEADER_BYTES = 1 << 23  # a GGUF header with a vocabulary of 152 k takes six millions
_BLOCKS, _BLOCK_BYTES = 16, 1 << 16


def parts(path: str) -> list[str]:
    """Return the files that llama.cpp loads for a path: a split model's parts, or the file."""
    found = re.fullmatch(r'(.*-)00001(-of-)(\d{5})(\.gguf)', path)
    if not found:
        return [path]
    start, middle, count, end = found.groups()
    return [f'{start}{i:05d}{middle}{count}{end}' for i in range(1, int(count) + 1)]


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

    :param folder: keeps what is known
    """

    def __init__(self, folder: str) -> None:
        self._known = JsonFile(Path(folder) / 'models.json')

    def of(self, path: str) -> dict[str, Any]:
        """
        Return what a model is: equal for equal contents, whatever its files' names and times are.

        :param path: of the file, or of the first of its parts
        """
        return {'parts': [self._of(part) for part in parts(path)]}

    def _of(self, path: str) -> dict[str, Any]:
        seen = sample(path)
        name = f'{seen["bytes"]}-{seen["modified"]}-{seen["sample_xxh3"]}'
        value = self._known.get(name)
        if not isinstance(value, str):
            value = full_hash(path)
            self._known.put(name, value)
        return {'bytes': seen['bytes'], 'sample_xxh3': seen['sample_xxh3'], 'xxh3': value}
