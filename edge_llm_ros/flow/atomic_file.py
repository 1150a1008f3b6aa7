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

"""Files that are there as a whole, before and after a change, whatever ends the process."""

from __future__ import annotations

import os
from pathlib import Path


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
