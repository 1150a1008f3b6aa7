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

"""The built-in tool that tells in short what the robot's topics say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.tools.builtins import LookAround
from edge_llm_ros.tools.gate import Refused
from edge_llm_ros.tools.goal_facts import read_all, SourceReader


class LookAroundTool:
    """
    Reads some sources at the same time and tells them within a budget.

    :param settings: which readings, and how many characters
    :param readers: by the names of the readings
    """

    def __init__(self, settings: LookAround, readers: Mapping[str, SourceReader]) -> None:
        self._settings = settings
        self._readers = dict(readers)

    def call(self, arguments: Mapping[str, Any], cancellation: Cancellation, dry_run: bool
             ) -> Observation:
        """Read everything; a dry run does, too, since nothing is moved."""
        if arguments:
            raise Refused(f'unknown argument {next(iter(arguments))!r}; allowed: none')
        values = read_all(self._readers, self._settings.readings, cancellation)
        if cancellation.canceled:
            text = canonical_json({'error': 'canceled while looking'})
            return Observation(Status.CANCELED, text, 'canceled while looking')
        return Observation(Status.SUCCEEDED, within(values, self._settings.length))


def within(values: Mapping[str, Any], length: int) -> str:
    """Write readings as JSON of at most some characters; what has no room is named, not cut."""
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in values.items():
        if len(canonical_json({**kept, name: value, 'left_out': [*left_out, '']})) > length:
            left_out.append(name)
        else:
            kept[name] = value
    while kept and left_out and len(canonical_json({**kept, 'left_out': left_out})) > length:
        left_out.insert(0, kept.popitem()[0])
    if left_out and len(canonical_json({**kept, 'left_out': left_out})) > length:
        return canonical_json({'left_out': len(left_out)})
    return canonical_json({**kept, 'left_out': left_out} if left_out else kept)
