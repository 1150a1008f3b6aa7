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

"""Names that a person gives in a tool file and the model reads."""

from __future__ import annotations

import re
from typing import Annotated

from edge_llm_ros.flow.tool import BUILTINS
from pydantic import AfterValidator

_NAME = re.compile(r'[a-z][a-z0-9_]{0,63}')


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f'{value!r} is not a name of lowercase letters, digits and "_"')
    return value


def _not_built_in(value: str) -> str:
    if value in BUILTINS:
        raise ValueError(f'{value!r} is built in; choose another name')
    return value


Name = Annotated[str, AfterValidator(_name)]
ToolName = Annotated[Name, AfterValidator(_not_built_in)]
