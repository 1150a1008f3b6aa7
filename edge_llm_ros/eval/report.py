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

"""The report of missions: report.json, report.md and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
import json
from pathlib import Path
from typing import Any

from edge_llm_ros.bench.report import cell, markdown_table
from edge_llm_ros.eval.mission import KINDS, LANGUAGES, SPLITS
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.eval.scores import scores, Share, success_by

_ORDER = {name: i for i, name in enumerate((*KINDS, *SPLITS, *LANGUAGES))}


def groups(rows: Sequence[EvalRow]) -> dict[str, list[Share]]:
    """Return the successes by what the cases have in common."""
    found = {
        'kind': success_by(rows, lambda row: row.kind),
        'language': success_by(rows, lambda row: row.language),
        'split': success_by(rows, lambda row: row.split),
        'tools': success_by(rows, lambda row: row.tools),
    }
    return {name: sorted(shares, key=lambda s: (_ORDER.get(s.name, 99), s.name))
            for name, shares in found.items()}


def write_report(folder: Path, facts: Mapping[str, Any], rows: Sequence[EvalRow]) -> Path:
    """Write report.json and report.md; returns the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    figures, by = scores(rows), groups(rows)
    data = {
        'meta': dict(facts),
        'scores': {name: asdict(value) if isinstance(value, Share) else value
                   for name, value in figures.items()},
        'success_by': {name: [asdict(s) for s in shares] for name, shares in by.items()},
        'cases': [asdict(row) for row in rows],
    }
    (folder / 'report.json').write_text(
        json.dumps(data, indent=1, ensure_ascii=False) + '\n', encoding='utf-8')
    lines = ['# Missions', '', *(f'- {key}: {value}' for key, value in facts.items()), '']
    lines += markdown_table([{'figure': name.replace('_', ' '), 'value': str(value) if isinstance(
        value, Share) else cell(value)} for name, value in figures.items()])
    for name, shares in by.items():
        lines += ['', f'## Success by {name}', '']
        lines += markdown_table([_entry(name, share) for share in shares])
    lines += ['', '## Not reached', '']
    lines += markdown_table([_failure(row) for row in rows if not row.success])
    path = folder / 'report.md'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def _entry(name: str, share: Share) -> dict[str, Any]:
    return {name: share.name, 'success': f'{share.share:.1%}', 'of': share.n,
            '95 % interval': f'{share.low:.1%} to {share.high:.1%}'}


def _failure(row: EvalRow) -> dict[str, Any]:
    def text(parts: Sequence[str]) -> str:
        return '; '.join(parts).replace('|', '/')

    return {'case': row.key, 'kind': row.kind, 'why': text(row.reasons), 'calls': text(row.calls)}


def draw(folder: Path, rows: Sequence[EvalRow]) -> Path:
    """Draw the successes by kind and language, with their intervals."""
    from matplotlib import pyplot
    pyplot.switch_backend('Agg')
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in rows)]
    figure, axis = pyplot.subplots(figsize=(9, 0.45 * len(kinds) + 1.6))
    for i, (language, colour) in enumerate(zip(LANGUAGES, ('#2d5d8c', '#e08e45'))):
        shares = {s.name: s for s in success_by(
            [row for row in rows if row.language == language], lambda row: row.kind)}
        for y, kind in enumerate(kinds):
            if kind in shares:
                _bar(axis, y + 0.36 * (i - 0.5), shares[kind], colour, language if y == 0 else '')
    axis.set_yticks(range(len(kinds)), [kind.replace('_', ' ') for kind in kinds])
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel('missions reached, with 95 % Wilson intervals')
    axis.legend(loc='lower left', fontsize=8)
    figure.tight_layout()
    path = folder / 'success.png'
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _bar(axis: Any, y: float, share: Share, colour: str, label: str) -> None:
    error = [[share.share - share.low], [share.high - share.share]]
    axis.barh(y, share.share, 0.34, color=colour, xerr=error, label=label or None,
              error_kw={'linewidth': 1, 'ecolor': '#333', 'capsize': 2})
