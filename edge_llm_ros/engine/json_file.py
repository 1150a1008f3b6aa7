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

"""A small file of things that were found out once and are known from then on."""

from __future__ import annotations

from collections.abc import Mapping
import json
import logging
import os
from pathlib import Path
import tempfile
from typing import Any

logger = logging.getLogger(__name__)

_KEPT = 64  # entries; the oldest go first


class JsonFile:
    """
    Entries by name in a JSON file; a file that cannot be read is one without entries.

    :param path: is made when something is saved
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> Any:
        """Return an entry; None where there is none."""
        return self._read().get(name)

    def put(self, name: str, value: Any) -> None:
        """Save an entry; a disk that cannot take it is a line in the log."""
        entries = {**self._read(), name: value}
        text = json.dumps(dict(list(entries.items())[-_KEPT:]), indent=1)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile('w', dir=self._path.parent, delete=False) as file:
                try:
                    file.write(text)
                    file.flush()
                    os.replace(file.name, self._path)
                except BaseException:
                    os.unlink(file.name)
                    raise
        except OSError as error:
            logger.warning('%s cannot be written: %s', self._path, error)

    def _read(self) -> Mapping[str, Any]:
        try:
            entries = json.loads(self._path.read_text())
            return entries if isinstance(entries, dict) else {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            logger.warning('%s: %s; it is made anew', self._path, error)
            return {}
