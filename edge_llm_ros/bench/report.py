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

"""The report of a benchmark: report.json and report.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
import json
import math
import os
from pathlib import Path
import platform
import subprocess
from typing import Any

from edge_llm_ros.bench.row import Row
from edge_llm_ros.engine.llama.library import backend


def meta(model_path: str, **more: Any) -> dict[str, Any]:
    """Return what the figures were measured on."""
    built = backend()
    return {'commit': _commit() or 'unknown', 'machine': platform.machine(),
            'cores': len(os.sched_getaffinity(0)), 'system': built.system,
            'llama_cpp': built.version, 'python': platform.python_version(),
            'model': Path(model_path).name, **more}


def _commit() -> str:
    """Return the commit of this package; empty where there is no repository or no git."""
    try:
        return subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True,
                              text=True, cwd=Path(__file__).parent).stdout.strip()
    except OSError:
        return ''


def write_report(folder: str, facts: Mapping[str, Any], rows: Sequence[Row],
                 tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """
    Write a report.

    :param tables: further tables by title
    :returns: the folder
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    data = {'meta': dict(facts), 'rows': [_known(row) for row in rows],
            **{title: list(table) for title, table in tables.items()}}
    (target / 'report.json').write_text(json.dumps(data, indent=1) + '\n')
    lines = ['# Benchmark', '', *(f'- {key}: {value}' for key, value in facts.items()), '']
    lines += markdown_table([_known(row) for row in rows])
    for title, table in tables.items():
        lines += ['', f'## {title}', '', *markdown_table(table)]
    (target / 'report.md').write_text('\n'.join(lines) + '\n')
    return target


def _known(row: Row) -> dict[str, Any]:
    """Return a figure without NaN, which JSON does not know."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(row).items()}


def markdown_table(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table; its columns are the keys, in order of appearance."""
    if not entries:
        return []
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    return ['| ' + ' | '.join(names) + ' |', '|' + '---|' * len(names),
            *('| ' + ' | '.join(cell(entry.get(name, '')) for name in names) + ' |'
              for entry in entries)]


def cell(value: Any) -> str:
    """Return a figure as reports show it."""
    return f'{value:.4g}' if isinstance(value, float) else str(value)
