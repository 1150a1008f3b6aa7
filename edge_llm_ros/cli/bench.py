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

"""edge_llm bench: measures, side by side in one run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
import sys
from typing import Any

from edge_llm_ros.bench import kv_memory, speed
from edge_llm_ros.bench.arm import Arm
from edge_llm_ros.bench.cancel import cancels
from edge_llm_ros.bench.kv_types import compare_types
from edge_llm_ros.bench.own_arm import OwnArm
from edge_llm_ros.bench.pictures import can_draw, draw, write_page
from edge_llm_ros.bench.report import meta, write_report
from edge_llm_ros.bench.row import Row
from edge_llm_ros.bench.script import Script
from edge_llm_ros.bench.synthetic import SHAPES, write_synthetic
from edge_llm_ros.bench.workload import workloads
from edge_llm_ros.engine.llama.context import default_threads
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EdgeLlmError

_KV = ('counts', 'first_token', 'fork', 'configure', 'cancel', 'growth')
_PARTS = ('speed', *_KV, 'gate', 'ros', 'kv_types')
_ARMS = [*speed.OWN, *speed.PEERS]
_WORKLOADS = ('four_turn', 'ten_turn', 'missions', 'argument_copy')


@dataclass
class _Findings:
    """What was measured so far."""

    rows: list[Row] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    records: list[speed.StepRecord] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'of {", ".join(_PARTS)}; default: all but the last, which takes an '
                             'hour on a CPU')
    parser.add_argument('--model', default='', metavar='GGUF', help='file of the model')
    parser.add_argument('--counts-model', default='', metavar='GGUF',
                        help='a small model for what is only counted')
    parser.add_argument('--baseline-model', default='', metavar='GGUF',
                        help='of the arm baseline; the same model in F16, where there is one')
    parser.add_argument('--arms', nargs='+', default=_ARMS, choices=_ARMS, metavar='ARM',
                        help=f'of {", ".join(_ARMS)}; default: all, the slow ones only on the '
                             'workloads that they are for')
    parser.add_argument('--workloads', nargs='+', default=list(_WORKLOADS),
                        choices=[w.name for w in workloads() if w.scripted],
                        metavar='WORKLOAD')
    parser.add_argument('--scale', type=float, default=0.125, help='of the texts; --full is 1')
    parser.add_argument('--full', action='store_true', help='everything at full size')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument('--steps', type=int, default=2000, help='of the memory test')
    parser.add_argument('--calls', type=int, default=200, help='of the comparison of KV types')
    parser.add_argument('--synthetic', default='', choices=['', *SHAPES], metavar='SHAPE',
                        help='a model with random weights, in F16 for the baseline')
    parser.add_argument('--vocabulary', default='', metavar='GGUF', help='of that model')
    parser.add_argument('--out', default='build/bench', metavar='FOLDER')


def run(args: argparse.Namespace) -> int:
    """Measure and write the report; 0 if all of it could be measured."""
    try:
        _check(args)
        found = _Findings()
        parts = args.parts or [part for part in _PARTS if part != 'kv_types']
        if 'speed' in parts:
            _speed(args, found)
        for name, measure in _kv_measures(args).items():
            if name in parts:
                found.rows += measure()
        if 'gate' in parts:
            # Not at the top: where there is no ROS, everything else can be measured.
            from edge_llm_ros.cli.bench_gate import gate_costs
            found.rows += gate_costs(_tell)
        if 'ros' in parts:
            from edge_llm_ros.cli.bench_ros import ros_costs
            found.rows += ros_costs(args.counts_model or args.model, _tell)
        if 'kv_types' in parts:
            found.tables['KV types'] = compare_types(args.model, calls=args.calls, tell=_tell)
        _write(args, found)
    except EdgeLlmError as error:
        print(f'edge_llm bench: {error}', file=sys.stderr)
        return 2
    return 0


def _check(args: argparse.Namespace) -> None:
    """Say what is wrong before anything is measured."""
    unknown = sorted(set(args.parts) - set(_PARTS))
    if unknown:
        raise EdgeLlmError(f'no part {unknown[0]!r}; parts: {", ".join(_PARTS)}.')
    args.scale = 1.0 if args.full else args.scale
    if args.synthetic:
        if not args.vocabulary:
            raise EdgeLlmError('--synthetic needs --vocabulary.')
        args.arms = [arm for arm in args.arms if arm not in speed.PEERS]
        folder = Path(args.out) / 'models'
        folder.mkdir(parents=True, exist_ok=True)
        for kind, name in (('q4_k_m', 'model'), ('f16', 'baseline_model')):
            path = folder / f'{args.synthetic}-{kind}.gguf'
            _tell(f'writing {path}')
            setattr(args, name, str(write_synthetic(path, args.synthetic, kind,
                                                    args.vocabulary)))
    if not args.model:
        raise EdgeLlmError('--model is needed.')


def _tell(line: str) -> None:
    print(line, flush=True)


def _kv_measures(args: argparse.Namespace) -> Mapping[str, Callable[[], Iterator[Row]]]:
    small = args.counts_model or args.model
    return {
        'counts': partial(kv_memory.counts, small, 1.0 if args.full else 0.5, _tell),
        'first_token': partial(kv_memory.first_token_by_prefix, args.model, args.repeats, _tell),
        'fork': partial(kv_memory.forks, small, 4 * args.repeats, _tell),
        'configure': partial(kv_memory.configure, args.model, 2048, args.repeats, _tell),
        'cancel': partial(cancels, args.model, 20 * args.repeats, _tell),
        'growth': partial(_growth, args, small)}


def _growth(args: argparse.Namespace, vocabulary: str) -> Iterator[Row]:
    """Measure with the smallest model, beside whose memory growth shows most."""
    folder = Path(args.out) / 'models'
    folder.mkdir(parents=True, exist_ok=True)
    path = write_synthetic(folder / 'tiny-f16.gguf', 'tiny', 'f16', vocabulary)
    return kv_memory.growth(str(path), args.steps, _tell)


def _speed(args: argparse.Namespace, found: _Findings) -> None:
    """Run the arms on the workloads, all of them loaded at once."""
    chosen = speed.chosen(args.workloads, args.scale)
    config = EngineConfig(
        model_path=args.model, context_tokens=max(w.context for w in chosen), max_sessions=8,
        threads=args.threads or default_threads())
    arms: list[Arm] = []
    try:
        for name in args.arms:
            arms.append(speed.make_arm(
                name, config, args.baseline_model or args.model, bool(args.synthetic)))
        own = next((arm for arm in arms if isinstance(arm, OwnArm)), None)
        if own is None:
            raise EdgeLlmError(f'--arms: one of {", ".join(speed.OWN)} is needed.')
        script = Script(own.engine, own.engine.info())
        everything = args.full or bool(args.synthetic) or args.arms != _ARMS
        for index, workload in enumerate(chosen):
            here = [arm for arm in arms if everything or speed.shown_on(arm.name, workload.name)]
            found.records += speed.run_arms(
                here, script, workload, args.repeats, warm=index > 0, everything=args.full,
                tell=_tell)
        found.facts = {arm.name: arm.facts() for arm in arms}
    finally:
        for arm in arms:
            arm.close()
    figures = speed.rows(found.records)
    found.rows += figures
    for title, metric in (('Whole workload, times as long as ours', 'wall_s'),
                          ('First token, times as long as ours', 'ttft_s')):
        found.tables[title] = speed.speedups(figures, metric)


def _write(args: argparse.Namespace, found: _Findings) -> None:
    facts = meta(args.model, counts_model=Path(args.counts_model or args.model).name,
                 scale=args.scale, repeats=args.repeats, arms=found.facts)
    folder = write_report(args.out, facts, found.rows, found.tables)
    if not found.records:
        _tell(f'report: {folder}/report.md')
        return
    pictures = []
    if can_draw():
        pictures = draw(folder, found.records, next(iter(found.tables.values())))
    else:
        print('edge_llm bench: no pictures: matplotlib is not installed', file=sys.stderr)
    _tell(f'report: {write_page(folder, facts, found.rows, found.tables, pictures)}')
