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

"""The command line of missions, without ROS; edge_llm eval adds the way over ROS."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
import sys

from edge_llm_ros.eval.arms import Arm, read_arms
from edge_llm_ros.eval.campaign import run_campaign, selection_of
from edge_llm_ros.eval.compare import read_report
from edge_llm_ros.eval.eval_setup import (
    CALLS, eval_setup, EvalSetup, launched, parameters_of, PROGRAMS)
from edge_llm_ros.eval.jobs import run_local
from edge_llm_ros.eval.mission import Case, KINDS, LANGUAGES, SPLITS
from edge_llm_ros.eval.model_check_run import check_models
from edge_llm_ros.eval.peers.campaign import run_peer
from edge_llm_ros.eval.peers.configuration import CONFIGURATIONS
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.eval.table import side_by_side
from edge_llm_ros.flow.errors import ConfigError, EdgeLlmError

OVER_ROS, WITHOUT_ROS = 'over ROS', 'without ROS'


def add_mission_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which missions run with what."""
    parser.add_argument('--model', default='', metavar='GGUF', help='file of the model')
    parser.add_argument('--split', choices=SPLITS, default='', help='default: both')
    parser.add_argument('--kinds', default='', metavar='A,B', help=f'of {", ".join(KINDS)}')
    parser.add_argument('--missions', default='*', metavar='PATTERN', help='of their names')
    parser.add_argument('--language', choices=LANGUAGES, default='', help='default: both')
    parser.add_argument('--worlds', type=int, choices=(1, 2, 3), default=3)
    parser.add_argument('--limit', type=int, default=0, help='cases at most, kinds by turns')
    parser.add_argument('--seconds', type=float, default=0.0,
                        help='begin no case after this time; the next call goes on; 0: no limit')
    parser.add_argument('--prompt', type=Path, help='another prompt file')
    parser.add_argument('--tools', type=Path, help="another file of the robot's own tools")
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE',
                        help='a parameter of the planner; can be repeated')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--prefixes', default='~/.cache/edge_llm_ros/prefixes', metavar='FOLDER',
                        help='keeps evaluated prefixes for the next time; empty for nowhere')
    parser.add_argument('--out', type=Path, default=Path('build/eval'), metavar='FOLDER')
    parser.add_argument('--jobs', type=int, default=1, metavar='N',
                        help='without ROS: processes, each with its own engine')
    parser.add_argument('--arms', type=Path, metavar='FOLDER',
                        help='without ROS: run each arm of this folder into a folder of --out')
    parser.add_argument('--peer', choices=tuple(CONFIGURATIONS), default='',
                        help='without ROS: let this plan instead, with the same model')
    parser.add_argument('--peer-config', default='', metavar='NAME',
                        help='its configuration; without it, that which is best on --peer-tuning '
                        'tuning cases')
    parser.add_argument('--peer-tuning', type=int, default=12, metavar='N')
    parser.add_argument('--models', nargs=2, type=Path, metavar=('A', 'B'),
                        help='two files of one model: say where their calls differ')
    parser.add_argument('--table', nargs='+', type=Path, metavar='REPORT',
                        help='two or more report.json beside each other, run nothing')


def setup_of(args: argparse.Namespace, config: Path, way: str, arm: Arm | None = None
             ) -> EvalSetup:
    """
    Return what the command line asks for.

    :param config: folder of the package's own files
    :param arm: goes before the command line
    """
    arm = arm or Arm('')
    own = {'threads': args.threads, 'prefix_folder': str(args.prefixes)}
    asked = {**parameters_of(args.set), **arm.parameters}
    by_calls = args.peer or asked.get('act_by') == 'calls'
    planner, prompt = CALLS if by_calls else PROGRAMS
    return eval_setup(
        str(args.model), arm.prompt or args.prompt or config / prompt,
        arm.tools or args.tools or config / 'simulated_robot.yaml', own,
        {**launched(config / planner), **asked}, way)


def run_without_ros(args: argparse.Namespace, config: Path) -> int:
    """Run missions in processes of their own; 0 if all that were asked for have been run."""
    if args.table:
        print('\n'.join(side_by_side({str(path.parent): read_report(path)
                                      for path in args.table})))
        return 0
    if args.models:
        args.model = args.models[0]
        few = replace(selection_of(args), split=args.split or 'tuning', limit=args.limit or 48)
        return check_models(args, setup_of(args, config, 'models'), few)
    if args.jobs < 1:
        raise ConfigError(f'--jobs {args.jobs}: at least one process is needed.')
    way = f'{WITHOUT_ROS}, {args.jobs} processes'
    if args.peer:
        if args.arms is not None:
            raise ConfigError('--arms and --peer cannot be had together.')
        return run_peer(args, lambda digest: setup_of(args, config, digest),
                        lambda setup, cases, deadline: _rows(setup, args, cases, deadline))
    if args.arms is None:
        setup = setup_of(args, config, WITHOUT_ROS)
        return 1 if run_campaign(args, setup, args.out, way, partial(_rows, setup, args)) else 0
    arms = read_arms(args.arms)
    # Checked before the first of them runs.
    setups = {arm.name: setup_of(args, config, WITHOUT_ROS, arm) for arm in arms}
    left = 0
    for name, setup in setups.items():
        print(f'== arm {name}', flush=True)
        try:
            left += run_campaign(args, setup, args.out / name, way, partial(_rows, setup, args))
        except EdgeLlmError as error:
            # The others run all the same; the exit code tells that something is missing.
            print(f'edge_llm eval: arm {name}: {error}', file=sys.stderr, flush=True)
            left += 1
    return 1 if left else 0


def _rows(setup: EvalSetup, args: argparse.Namespace, cases: Sequence[Case], deadline: float
          ) -> Iterable[EvalRow]:
    return run_local(setup, cases, args.jobs, deadline, partial(print, flush=True))
