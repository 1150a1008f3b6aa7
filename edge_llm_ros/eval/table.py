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

"""Several reports beside each other, on the cases that all of them have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edge_llm_ros.bench.report import markdown_table
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.eval.scores import scores
from edge_llm_ros.flow.errors import ConfigError
from pydantic import TypeAdapter, ValidationError

_ROWS = TypeAdapter(tuple[EvalRow, ...])


def side_by_side(reports: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """
    Return the lines of a Markdown table with an entry for each report.

    :param reports: contents of report.json, by the names of their arms
    :raises ConfigError: if a report has no rows, or they have no case in common
    """
    rows = {name: _rows(name, report) for name, report in reports.items()}
    digests = [{(row.key, row.digest) for row in found} for found in rows.values()]
    common = set.intersection(*digests)
    if not common:
        raise ConfigError(f'{", ".join(reports)}: have no case in common.')
    entries = [_entry(name, [row for row in found if (row.key, row.digest) in common])
               for name, found in rows.items()]
    left = {name: len(found) - len(common) for name, found in rows.items()}
    notes = [f'{count} cases of {name} are left out: not all reports have them.'
             for name, count in left.items() if count]
    return [f'{len(common)} cases that all reports have', '', *markdown_table(entries),
            *([''] + notes if notes else [])]


def _rows(name: str, report: Mapping[str, Any]) -> tuple[EvalRow, ...]:
    try:
        return _ROWS.validate_python(report['cases'])
    except ValidationError as error:
        raise ConfigError(f'{name}: has no rows that can be read: '
                          f'{error.errors()[0]["msg"]}.') from None


def _entry(name: str, rows: Sequence[EvalRow]) -> dict[str, Any]:
    found = scores(rows)
    success, false = found['success'], found['false_claims']
    calls = max(1, found['calls'])
    return {
        'arm': name,
        'success': f'{success.share:.1%} ({success.count} of {success.n})',
        '95 % interval': f'{success.low:.1%} to {success.high:.1%}',
        'false claims': f'{false.count} ({false.share:.1%})',
        'invalid calls': f'{found["invalid_calls"]} of {found["calls"]}',
        'unsafe, injected done': f'{found["unsafe_done"]}, {found["injected_done"]}',
        'calls over optimum': found['steps_over_optimum_mean'],
        'prefill tokens a call': found['prefill_tokens'] / calls,
        'generated tokens a call': found['generated_tokens_per_call'],
        'model seconds a call': found['model_seconds_per_call'],
        'seconds a case (median)': found['seconds_median']}
