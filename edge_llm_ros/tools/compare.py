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

"""The built-in comparison: small models read numbers well and compare them badly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edge_llm_ros.tools.gate import Refused


def compare(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """
    Compare two numbers.

    :returns: the relation in words; not "true" or "false", which a small model forgets the
        question of
    :raises Refused: if the arguments are not two numbers
    """
    value, limit = arguments.get('value'), arguments.get('limit')
    for number in (value, limit):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise Refused(f'value and limit must be numbers, not {number!r}')
    assert value is not None and limit is not None
    relation = 'above' if value > limit else 'below' if value < limit else 'equal to'
    return {'result': f'{value} is {relation} {limit}'}
