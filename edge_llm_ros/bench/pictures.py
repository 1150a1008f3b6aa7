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

"""Pictures of a report, and one page that holds all of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
import html
import importlib.util
from pathlib import Path
from typing import Any

from edge_llm_ros.bench.report import cell
from edge_llm_ros.bench.row import Row
from edge_llm_ros.bench.speed import StepRecord

_TOKENS = (('cached_tokens', '#c7d3dd'), ('prefill_tokens', '#e08e45'),
           ('forced_tokens', '#7fb069'), ('accepted_draft_tokens', '#3a7d44'),
           ('sampled_tokens', '#2d5d8c'))
_STYLE = ('body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}'
          'table{border-collapse:collapse;font-size:14px}td,th{padding:.2em .7em;text-align:right;'
          'border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}'
          'img{max-width:100%}h1{font-size:1.6em}')


def can_draw() -> bool:
    """Say whether matplotlib is there."""
    return importlib.util.find_spec('matplotlib') is not None


def draw(folder: Path, records: Sequence[StepRecord], speedups: Sequence[Mapping[str, Any]]
         ) -> list[Path]:
    """Draw times by turn, tokens by where they come from, and speed-ups."""
    from matplotlib import pyplot
    pyplot.switch_backend('Agg')
    pictures = []
    for workload in dict.fromkeys(record.workload for record in records):
        here = [record for record in records if record.workload == workload]
        last = [r for r in here if r.repeat == max(
            other.repeat for other in here if other.arm == r.arm)]
        arms = sorted({record.arm for record in last}, key=_order)
        figure, axes = pyplot.subplots(1, 2, figsize=(12, 0.6 * len(arms) + 2))
        _times(axes[0], arms, last)
        _tokens(axes[1], arms, last)
        figure.suptitle(workload)
        figure.tight_layout()
        pictures.append(folder / f'{workload}.png')
        figure.savefig(pictures[-1], dpi=110)
        pyplot.close(figure)
    if speedups:
        pictures.append(_speedups(pyplot, folder, speedups))
    return pictures


def _order(arm: str) -> tuple[bool, bool, str]:
    """Return what sorts this package's arms first, the whole one before its parts."""
    return not arm.startswith('ours'), arm != 'ours', arm


def _times(axis: Any, arms: Sequence[str], records: Sequence[StepRecord]) -> None:
    """Stack prefill and decode of each turn; there are no tools to wait for."""
    for y, arm in enumerate(arms):
        left = 0.0
        for record in (r for r in records if r.arm == arm):
            first, seconds = record.result.first_token, record.result.seconds
            axis.barh(y, first, left=left, color='#e08e45', edgecolor='white')
            axis.barh(y, seconds - first, left=left + first, color='#2d5d8c', edgecolor='white')
            left += seconds
    axis.set_yticks(range(len(arms)), arms)
    axis.invert_yaxis()
    axis.set_xlabel('seconds: to the first token (orange), rest of the call (blue), by turn')


def _tokens(axis: Any, arms: Sequence[str], records: Sequence[StepRecord]) -> None:
    for y, arm in enumerate(arms):
        left = 0
        for name, colour in _TOKENS:
            count = sum(r.result.counts.get(name, 0) for r in records if r.arm == arm)
            axis.barh(y, count, left=left, color=colour,
                      label=name.removesuffix('_tokens') if y == 0 else None)
            left += count
    axis.set_yticks(range(len(arms)), [''] * len(arms))
    axis.invert_yaxis()
    axis.set_xlabel('tokens')
    axis.legend(fontsize=8, ncols=len(_TOKENS), loc='lower center', bbox_to_anchor=(0.5, 1.0))


def _speedups(pyplot: Any, folder: Path, table: Sequence[Mapping[str, Any]]) -> Path:
    arms = [name for name in table[0] if name != 'workload' and not name.startswith('ours ')]
    figure, axis = pyplot.subplots(figsize=(10, 0.5 * len(table) * max(1, len(arms)) / 2 + 2))
    height = 0.8 / max(1, len(arms))
    for i, arm in enumerate(arms):
        axis.barh([y + i * height for y in range(len(table))],
                  [entry.get(arm, 0) for entry in table], height, label=arm)
    axis.set_yticks([y + 0.4 for y in range(len(table))], [e['workload'] for e in table])
    axis.axvline(1, color='#888', linewidth=1)
    axis.invert_yaxis()
    axis.set_xlabel('times as long as ours')
    axis.legend()
    figure.tight_layout()
    path = folder / 'speedup.png'
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def write_page(folder: Path, facts: Mapping[str, Any], rows: Sequence[Row],
               tables: Mapping[str, Sequence[Mapping[str, Any]]], pictures: Sequence[Path]
               ) -> Path:
    """Write one page with figures and pictures inside it."""
    parts = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmark</title>'
             f'<style>{_STYLE}</style><h1>What a planner costs</h1><p>'
             + html.escape(', '.join(f'{key}: {value}' for key, value in facts.items()
                                     if not isinstance(value, dict))) + '</p>']
    for title, table in tables.items():
        parts += [f'<h2>{html.escape(title)}</h2>', _table(table)]
    for picture in pictures:
        data = base64.b64encode(picture.read_bytes()).decode()
        parts.append(f'<h2>{html.escape(picture.stem)}</h2>'
                     f'<img alt="{html.escape(picture.stem)}" src="data:image/png;base64,{data}">')
    parts += ['<h2>All figures</h2>', _table([vars(row) for row in rows]), '</html>']
    path = folder / 'report.html'
    path.write_text('\n'.join(parts) + '\n')
    return path


def _table(entries: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    head = ''.join(f'<th>{html.escape(name)}</th>' for name in names)
    body = ''.join('<tr>' + ''.join(
        f'<td>{html.escape(cell(entry.get(name, "")))}</td>' for name in names) + '</tr>'
        for entry in entries)
    return f'<table><tr>{head}</tr>{body}</table>'
