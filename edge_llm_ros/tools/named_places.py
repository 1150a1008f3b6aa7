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

"""A file of named places: words that a model knows, each with the request fields it stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.tools.strict_yaml import read_yaml

_MAX_PLACES = 256
_MAX_NAME = 64  # characters; each name is in the prompt and in the grammar


def named_places(file: str, folder: Path) -> dict[str, dict[str, Any]]:
    """
    Return the request fields of each place of a file.

    :param file: YAML file, from the folder of the tool file
    :raises ValueError: with file and place
    """
    path = str(folder / file)
    try:
        places = read_yaml(path)
    except ConfigError as error:
        raise ValueError(str(error)) from None
    if not 1 <= len(places) <= _MAX_PLACES:
        raise ValueError(f'{path}: 1 … {_MAX_PLACES} places are needed, not {len(places)}')
    for name, fields in places.items():
        if not name.strip() or len(name) > _MAX_NAME:
            raise ValueError(f'{path}: the name {name[:_MAX_NAME]!r} must have 1 … {_MAX_NAME} '
                             'characters')
        if not isinstance(fields, dict) or not fields:
            raise ValueError(f'{path}: {name}: the request fields of the place are needed, such '
                             'as {pose.position.x: 1.5}')
    return places
