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

"""Runs missions with a peer, in the configuration that is best on a few tuning cases."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from edge_llm_ros.eval.campaign import run_campaign
from edge_llm_ros.eval.compare import read_report
from edge_llm_ros.eval.eval_setup import EvalSetup
from edge_llm_ros.eval.mission import Case
from edge_llm_ros.eval.peers.configuration import configuration, CONFIGURATIONS, Peer
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.eval.table import side_by_side
from edge_llm_ros.flow.errors import EdgeLlmError

# A setup for what its digest depends on beside the command line.
MakeSetup = Callable[[str], EvalSetup]
Run = Callable[[EvalSetup, Sequence[Case], float], Iterable[EvalRow]]


def run_peer(args: argparse.Namespace, setup: MakeSetup, run: Run) -> int:
    """
    Run missions with a peer and write the report.

    :param run: runs cases of a setup
    :returns: 0 if all that were asked for have been run
    """
    name = args.peer_config or _best(args, setup, run)
    return 1 if not name or _run(args, setup, run, name, args.out) else 0


def _run(args: argparse.Namespace, setup: MakeSetup, run: Run, name: str, out: Path) -> int:
    """Run one configuration; return how many cases are left."""
    peer = Peer(args.peer, configuration(args.peer, name))
    way = f'{args.peer}, {name}: {peer.configuration.about}'
    chosen = replace(setup(repr(peer)), peer=peer)
    return run_campaign(args, chosen, out, way, partial(run, chosen))


def _best(args: argparse.Namespace, setup: MakeSetup, run: Run) -> str:
    """Return the configuration that reaches most of a few tuning cases; empty if some are left."""
    few = argparse.Namespace(**{
        **vars(args), 'split': 'tuning', 'limit': args.peer_tuning, 'kinds': '', 'missions': '*',
        'language': '', 'worlds': 3})
    left, reports = 0, {}
    for name in CONFIGURATIONS[args.peer]:
        print(f'== {args.peer}, {name}', flush=True)
        out = args.out / 'tuning' / name
        try:
            left += _run(few, setup, run, name, out)
            reports[name] = read_report(out / 'report.json')
        except EdgeLlmError as error:
            # One that does not work here is not the best; the others are tried all the same.
            print(f'{name}: {error}', flush=True)
    if not reports:
        raise EdgeLlmError(f'{args.peer}: no configuration works.')
    print('\n'.join(side_by_side(reports)), flush=True)
    if left:
        print(f'{left} tuning cases are left; the same command goes on with them')
        return ''
    best = max(reports, key=lambda name: _worth(reports[name]['scores']))
    print(f'best: {best}', flush=True)
    return best


def _worth(scores: dict[str, dict[str, int] | int]) -> tuple[int, int]:
    success, invalid = scores['success'], scores['invalid_calls']
    assert isinstance(success, dict) and isinstance(invalid, int)
    return success['count'], -invalid
