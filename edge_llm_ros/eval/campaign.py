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

"""Runs the cases that are still due, keeps their rows, and writes the report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
import time

from edge_llm_ros.bench.pictures import can_draw
from edge_llm_ros.bench.report import meta
from edge_llm_ros.eval.eval_setup import EvalSetup
from edge_llm_ros.eval.mission import all_cases, Case
from edge_llm_ros.eval.report import draw, write_report
from edge_llm_ros.eval.row import append_row, current, EvalRow, read_rows
from edge_llm_ros.eval.scores import scores
from edge_llm_ros.eval.selection import Selection

# Takes the cases that are due and the time after which none is begun; yields rows.
RunCases = Callable[[Sequence[Case], float], Iterable[EvalRow]]


def selection_of(args: argparse.Namespace) -> Selection:
    """Return which cases the command line asks for."""
    kinds = tuple(kind for kind in args.kinds.split(',') if kind)
    return Selection(args.split, kinds, args.missions, args.language, args.worlds, args.limit)


def run_campaign(args: argparse.Namespace, setup: EvalSetup, out: Path, way: str,
                 run_cases: RunCases) -> int:
    """
    Run what is due and write the report.

    :param out: folder of rows and report
    :param way: how it runs, for the report
    :returns: how many cases are left
    """
    cases = selection_of(args).of(list(all_cases(setup.sets.places)))
    out.mkdir(parents=True, exist_ok=True)
    rows_file = out / 'rows.jsonl'
    done = {row.key for row in current(read_rows(rows_file, setup.setting, EvalRow), cases)}
    due = [case for case in cases if case.key not in done]
    print(f'{len(cases)} cases, {len(done)} of them done before', flush=True)
    if due:
        deadline = time.monotonic() + args.seconds if args.seconds else float('inf')
        for row in run_cases(due, deadline):
            append_row(rows_file, row)
            _tell(row)
    rows = current(read_rows(rows_file, setup.setting, EvalRow), cases)
    _report(args, setup, out, way, rows)
    left = len(cases) - len(rows)
    if left:
        print(f'{left} cases are left; the same command goes on with them')
    return left


def _tell(row: EvalRow) -> None:
    mark = 'reached' if row.success else 'NOT reached'
    print(f'{row.kind}: {row.key}: {mark} in {row.steps} calls (optimum {row.optimum}), '
          f'{row.seconds:.1f} s' + ''.join(f'\n     {reason}' for reason in row.reasons),
          flush=True)


def _report(args: argparse.Namespace, setup: EvalSetup, out: Path, way: str,
            rows: Sequence[EvalRow]) -> None:
    if not rows:
        return
    facts = meta(args.model, way=way, setting=setup.setting, prompt=setup.prompt.name,
                 split=args.split or 'both', missions=len({row.mission for row in rows}),
                 cases=len(rows), tools=setup.robot_tools.name,
                 parameters=setup.asked)
    path = write_report(out, facts, rows)
    if can_draw():
        draw(out, rows)
    else:
        print('edge_llm eval: no picture: matplotlib is not installed')
    found = scores(rows)
    print(f'success {found["success"]}\nfalse claims {found["false_claims"]}\n'
          f'invalid calls {found["invalid_calls"]} of {found["calls"]}\nreport: {path}',
          flush=True)
