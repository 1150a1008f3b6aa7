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

"""The gate: from the model's arguments to the request fields that may leave, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.virtual_argument import request_fields


class Refused(Exception):
    """Raised when a call must not leave; the message is for the model."""


@dataclass(frozen=True)
class Passage:
    """
    A call that passed.

    :param fields: request fields by dotted path, not yet of their IDL types
    :param duration: seconds of a rate publish
    """

    fields: Mapping[str, Any]
    duration: float = 0.0


def pass_gate(tool: Tool, arguments: Mapping[str, Any]) -> Passage:
    """
    Check the arguments of a call against the tool and map them to request fields.

    :raises Refused: with the argument, what is wrong with it and what is allowed
    """
    unknown = [name for name in arguments if name not in tool.arguments]
    if unknown:
        allowed = ', '.join(tool.arguments) or 'none'
        raise Refused(f'unknown argument {unknown[0]!r}; allowed: {allowed}')
    fields = flat(tool.fixed)
    duration = tool.publish.duration if tool.publish else None
    seconds = duration if isinstance(duration, float) else 0.0
    for name, argument in tool.arguments.items():
        value = arguments.get(name, argument.default)
        if value is None:
            raise Refused(f'argument {name!r} is missing')
        try:
            argument.check(value)
        except ValueError as error:
            raise Refused(f'argument {name!r}: {error}') from None
        if name == duration:
            seconds = float(value)
        else:
            fields.update(request_fields(name, argument, value))
    return Passage(fields, seconds)
