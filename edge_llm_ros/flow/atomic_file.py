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

"""Files that one process has, whole before and after a change, whatever ends the process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """
    Keeps other processes from a file; it ends with this one.

    :param path: of the file, beside which the lock lies
    :raises BlockingIOError: if another process has it
    :raises OSError: if there can be no lock
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: int | None = os.open(
            path.with_suffix('.lock'), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Let another process have the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def write_file(path: Path, text: str, sync: bool = True) -> None:
    """
    Put a text into a file, or leave the file as it was; one process at a time writes it.

    :param sync: whether it is on the disk afterwards, and a power cut does not lose it
    :raises OSError: if it cannot be written
    """
    unfinished = path.with_suffix(path.suffix + '.new')
    with unfinished.open('w', encoding='utf-8') as file:
        file.write(text)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    os.replace(unfinished, path)
    if sync:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
