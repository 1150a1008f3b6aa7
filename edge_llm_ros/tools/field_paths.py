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

"""Request fields by dotted path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat(fields: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    """
    Return nested request fields by dotted path, so that each sets one field and no more.

    A mapping is a message's fields: put in place as a whole, it would reset the others.
    """
    paths: dict[str, Any] = {}
    for name, value in fields.items():
        path = f'{prefix}{name}'
        paths.update(flat(value, path + '.') if isinstance(value, Mapping) else {path: value})
    return paths
