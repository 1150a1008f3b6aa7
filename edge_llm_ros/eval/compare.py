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

"""Names the missions whose result differs between two reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import math
from pathlib import Path
from typing import Any

from edge_llm_ros.flow.errors import ConfigError


def read_report(path: Path) -> dict[str, Any]:
    """
    Read report.json.

    :raises ConfigError: if it is none
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding='utf-8'))
        assert data['cases'] is not None
        return data
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f'{path}: is no report.json of edge_llm eval: {error!r}.') from None


def sign_test(gained: int, lost: int) -> float:
    """Return how probable a difference at least as large is if each change were a coin's."""
    n, least = gained + lost, min(gained, lost)
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return min(1.0, 2.0 * tail / float(2 ** n))


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for a person: first the sum, then every case that changed."""
    old = {case['key']: case for case in before['cases']}
    new = {case['key']: case for case in after['cases']}
    both = [key for key in old if key in new]
    gained = [key for key in both if new[key]['success'] and not old[key]['success']]
    lost = [key for key in both if old[key]['success'] and not new[key]['success']]
    reached = [sum(cases[key]['success'] for key in both) for cases in (old, new)]
    yield (f'{len(both)} cases in both: {reached[0]} reached before, {reached[1]} after; '
           f'{len(gained)} gained, {len(lost)} lost (sign test: p = '
           f'{sign_test(len(gained), len(lost)):.2g})')
    for only, name in ((old.keys() - new.keys(), 'before'), (new.keys() - old.keys(), 'after')):
        if only:
            yield f'{len(only)} cases only {name}'
    for mark, keys in (('+', gained), ('-', lost)):
        for key in sorted(keys, key=lambda key: (new[key]['kind'], key)):
            calls = ', '.join(new[key]['calls'])
            why = '; '.join((new if mark == '-' else old)[key]['reasons'])
            yield f'{mark} {new[key]["kind"]}: {key}: {calls}   [{why}]'
