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
from collections.abc import Iterator, Sequence
from functools import partial
import os
from pathlib import Path
import random
import signal
import sys
import time

from ament_index_python.packages import get_package_share_directory
from edge_llm_ros.bench.report import meta
from edge_llm_ros.cli.mission_runner import MissionRunner
from edge_llm_ros.eval.bfcl_run import BfclRow, BfclRunner, write_bfcl_report
from edge_llm_ros.eval.bfcl_turns import read_bfcl
from edge_llm_ros.eval.campaign import run_campaign
from edge_llm_ros.eval.command import (
    add_mission_arguments, OVER_ROS, run_without_ros, setup_of)
from edge_llm_ros.eval.compare import changes, read_report
from edge_llm_ros.eval.eval_setup import EvalSetup, model_digest
from edge_llm_ros.eval.mission import Case
from edge_llm_ros.eval.row import append_row, EvalRow, read_rows
from edge_llm_ros.flow.errors import ConfigError, EdgeLlmError
import rclpy
from rclpy.signals import SignalHandlerOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('--compare', nargs=2, type=Path, metavar=('BEFORE', 'AFTER'),
                        help='two report.json: name the missions that changed, run nothing')
    parser.add_argument('--bfcl', type=Path, metavar='FOLDER',
                        help='run the BFCL files of this folder instead of missions')
    parser.add_argument('--without-ros', action='store_true',
                        help='planner and robot in one process, with the same agent and gate')
    add_mission_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run missions and write the report; 0 if all that were asked for have been run."""
    try:
        if args.compare:
            for line in changes(*map(read_report, args.compare)):
                print(line)
            return 0
        if args.bfcl:
            return _run_bfcl(args)
        config = Path(get_package_share_directory('edge_llm_ros')) / 'config'
        if args.without_ros or args.peer or args.models or args.table:
            return run_without_ros(args, config)
        return _run(args, config)
    except KeyboardInterrupt:
        return 130
    except EdgeLlmError as error:
        print(f'edge_llm eval: {error}', file=sys.stderr)
        return 2


def _run_bfcl(args: argparse.Namespace) -> int:
    setting = model_digest(args.model).hexdigest()[:12]
    items = read_bfcl(args.bfcl)[:args.limit or None]
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


def _run(args: argparse.Namespace, config: Path) -> int:
    if args.jobs != 1 or args.arms is not None:
        raise ConfigError('--jobs and --arms are for --without-ros.')
    setup = setup_of(args, config, OVER_ROS)
    return 1 if run_campaign(args, setup, args.out, OVER_ROS, partial(
        _rows, setup, args.out / 'logs')) else 0


def _rows(setup: EvalSetup, logs: Path, cases: Sequence[Case], deadline: float
          ) -> Iterator[EvalRow]:
    """Run cases, one set of tools after the other, each with a planner of its own."""
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
            with MissionRunner(node, setup, tools, logs / tools) as runner:
                for case in (case for case in cases if case.tools == tools):
                    if time.monotonic() > deadline:
                        break
                    yield runner.run(case)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
