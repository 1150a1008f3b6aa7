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

"""edge_llm eval: how often plans are right, by missions on the simulated robot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import hashlib
import os
from pathlib import Path
import random
import signal
import sys
import time
from typing import Any

from ament_index_python.packages import get_package_share_directory
from edge_llm_ros.bench.pictures import can_draw
from edge_llm_ros.bench.report import meta
from edge_llm_ros.cli.mission_runner import MissionRunner, Setup
from edge_llm_ros.eval.bfcl import read_items
from edge_llm_ros.eval.bfcl_run import BfclRow, BfclRunner, write_bfcl_report
from edge_llm_ros.eval.compare import changes, read_report
from edge_llm_ros.eval.mission import all_cases, Case, KINDS, LANGUAGES, SPLITS
from edge_llm_ros.eval.report import draw, write_report
from edge_llm_ros.eval.row import append_row, current, EvalRow, read_rows
from edge_llm_ros.eval.scores import scores
from edge_llm_ros.eval.selection import Selection
from edge_llm_ros.eval.tool_sets import FILE, tool_sets
from edge_llm_ros.flow.errors import ConfigError, EdgeLlmError
from edge_llm_ros.tools.strict_yaml import read_yaml
import rclpy
from rclpy.signals import SignalHandlerOptions
import yaml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('--model', default='', metavar='GGUF', help='file of the model')
    parser.add_argument('--compare', nargs=2, type=Path, metavar=('BEFORE', 'AFTER'),
                        help='two report.json: name the missions that changed, run nothing')
    parser.add_argument('--bfcl', type=Path, metavar='FOLDER',
                        help='run the BFCL files of this folder instead of missions')
    parser.add_argument('--split', choices=SPLITS, default='', help='default: both')
    parser.add_argument('--kinds', default='', metavar='A,B', help=f'of {", ".join(KINDS)}')
    parser.add_argument('--missions', default='*', metavar='PATTERN', help='of their names')
    parser.add_argument('--language', choices=LANGUAGES, default='', help='default: both')
    parser.add_argument('--worlds', type=int, choices=(1, 2, 3), default=3)
    parser.add_argument('--limit', type=int, default=0, help='cases at most, kinds by turns')
    parser.add_argument('--seconds', type=float, default=0.0,
                        help='begin no case after this time; the next call goes on; 0: no limit')
    parser.add_argument('--prompt', type=Path, help='another prompt file')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE',
                        help='a parameter of the planner; can be repeated')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--prefixes', default='~/.cache/edge_llm_ros/prefixes', metavar='FOLDER',
                        help='keeps evaluated prefixes for the next time; empty for nowhere')
    parser.add_argument('--out', type=Path, default=Path('build/eval'), metavar='FOLDER')


def run(args: argparse.Namespace) -> int:
    """Run missions and write the report; 0 if all that were asked for have been run."""
    try:
        if args.compare:
            for line in changes(*map(read_report, args.compare)):
                print(line)
            return 0
        return _run_bfcl(args) if args.bfcl else _run(args)
    except KeyboardInterrupt:
        return 130
    except EdgeLlmError as error:
        print(f'edge_llm eval: {error}', file=sys.stderr)
        return 2


def _model_digest(args: argparse.Namespace, *more: Any) -> Any:
    if not args.model or not Path(args.model).is_file():
        raise ConfigError(f'--model: there is no file {args.model!r}.')
    name, size = Path(args.model).name, Path(args.model).stat().st_size
    return hashlib.sha256(repr((name, size, *more)).encode())


def _run_bfcl(args: argparse.Namespace) -> int:
    setting = _model_digest(args).hexdigest()[:12]
    items = list(read_items(args.bfcl))[:args.limit or None]
    args.out.mkdir(parents=True, exist_ok=True)
    rows_file = args.out / 'bfcl.jsonl'
    rows = {row.id: row for row in read_rows(rows_file, setting, BfclRow)}
    due = [item for item in items if item.id not in rows]
    deadline = time.monotonic() + args.seconds if args.seconds else float('inf')
    if due:
        with BfclRunner(args.model, args.threads, setting) as runner:
            for item in due:
                if time.monotonic() > deadline:
                    break
                row = rows[item.id] = runner.run(item)
                append_row(rows_file, row)
                print(f'{row.id}: {"right" if row.success else f"WRONG: {row.reason}"}, '
                      f'{row.seconds:.1f} s', flush=True)
    done = [rows[item.id] for item in items if item.id in rows]
    print(f'report: {write_bfcl_report(args.out, meta(args.model), done)}')
    return 0 if len(done) == len(items) else 1


def _setup(args: argparse.Namespace) -> Setup:
    config = Path(get_package_share_directory('edge_llm_ros')) / 'config'
    parameters: dict[str, Any] = {}
    for text in args.set:
        name, equals, value = text.partition('=')
        if not equals:
            raise ConfigError(f'--set {text}: NAME=VALUE is needed.')
        parameters[name] = yaml.safe_load(value)
    prompt, robot = args.prompt or config / 'prompt.yaml', config / 'simulated_robot.yaml'
    read_yaml(str(prompt))
    digest = _model_digest(args, sorted(parameters.items()))
    for path in (prompt, robot, FILE):
        digest.update(path.read_bytes())
    own = {'model_path': str(args.model), 'threads': args.threads,
           'prefix_folder': str(args.prefixes)}
    return Setup(tool_sets(), robot, prompt, {**own, **parameters}, digest.hexdigest()[:12])


def _run(args: argparse.Namespace) -> int:
    setup = _setup(args)
    kinds = tuple(kind for kind in args.kinds.split(',') if kind)
    cases = Selection(args.split, kinds, args.missions, args.language, args.worlds,
                      args.limit).of(list(all_cases(setup.sets.places)))
    args.out.mkdir(parents=True, exist_ok=True)
    rows_file = args.out / 'rows.jsonl'
    done = {row.key for row in current(read_rows(rows_file, setup.setting, EvalRow), cases)}
    due = [case for case in cases if case.key not in done]
    print(f'{len(cases)} cases, {len(done)} of them done before', flush=True)
    if due:
        _run_cases(args, setup, due, rows_file)
    rows = current(read_rows(rows_file, setup.setting, EvalRow), cases)
    _report(args, setup, rows)
    left = len(cases) - len(rows)
    if left:
        print(f'{left} cases are left; the same command goes on with them')
    return 1 if left else 0


def _run_cases(args: argparse.Namespace, setup: Setup, cases: Sequence[Case],
               rows_file: Path) -> None:
    """Run cases, one set of tools after the other, each with a planner of its own."""
    deadline = time.monotonic() + args.seconds if args.seconds else float('inf')
    # A domain of its own, so that it neither moves nor hears a robot on this network.
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randrange(1, 101)))
    # The nodes are in sessions of their own: they end when this ends, however it is told to.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('edge_llm_eval')
    try:
        for tools in dict.fromkeys(case.tools for case in cases):
            if time.monotonic() > deadline:
                break
            with MissionRunner(node, setup, tools, args.out / 'logs' / tools) as runner:
                for case in (case for case in cases if case.tools == tools):
                    if time.monotonic() > deadline:
                        break
                    row = runner.run(case)
                    append_row(rows_file, row)
                    _tell(row)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _tell(row: EvalRow) -> None:
    mark = 'reached' if row.success else 'NOT reached'
    print(f'{row.kind}: {row.key}: {mark} in {row.steps} calls (optimum {row.optimum}), '
          f'{row.seconds:.1f} s' + ''.join(f'\n     {reason}' for reason in row.reasons),
          flush=True)


def _report(args: argparse.Namespace, setup: Setup, rows: Sequence[EvalRow]) -> None:
    if not rows:
        return
    facts = meta(args.model, setting=setup.setting, prompt=setup.prompt.name,
                 split=args.split or 'both', missions=len({row.mission for row in rows}),
                 cases=len(rows), parameters=', '.join(args.set) or 'as they are')
    path = write_report(args.out, facts, rows)
    if can_draw():
        draw(args.out, rows)
    else:
        print('edge_llm eval: no picture: matplotlib is not installed', file=sys.stderr)
    found = scores(rows)
    print(f'success {found["success"]}\nfalse claims {found["false_claims"]}\n'
          f'invalid calls {found["invalid_calls"]} of {found["calls"]}\nreport: {path}')
