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

"""Runs cases in processes of their own, each with its own engine and its own copy of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
import multiprocessing
import signal
import time

from edge_llm_ros.eval.eval_setup import EvalSetup
from edge_llm_ros.eval.local_robot import LocalRobot
from edge_llm_ros.eval.mission import Case
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.flow.errors import EngineError

_RESTARTS = 3  # of all processes, where one of them died


class _Worker:
    """What a process of the pool keeps."""

    setup: EvalSetup
    robot: LocalRobot | None = None


def _begin(setup: EvalSetup) -> None:
    # Ctrl-C is the parent's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Worker.setup = setup


def _run(case: Case) -> EvalRow:
    if _Worker.robot is None:
        # Not in _begin, whose errors nobody would be told of.
        _Worker.robot = LocalRobot(_Worker.setup)
    return _Worker.robot.run(case)


def run_local(setup: EvalSetup, cases: Sequence[Case], jobs: int, deadline: float,
              tell: Callable[[str], None]) -> Iterator[EvalRow]:
    """
    Run cases without ROS and yield their rows as they come.

    :param jobs: processes; 1: in this one
    :param deadline: of time.monotonic(), after which no case is begun
    :param tell: takes a line for the person who waits
    :raises EdgeLlmError: if the setup cannot be used, or processes die again and again
    """
    # Cases with the same tools one after the other: another set of tools is another prefix.
    order = {tools: i for i, tools in enumerate(dict.fromkeys(case.tools for case in cases))}
    due = sorted(cases, key=lambda case: order[case.tools])
    if jobs == 1:
        yield from _run_here(setup, due, deadline)
        return
    for attempt in range(_RESTARTS + 1):
        done = set()
        try:
            for row in _run_pool(setup, due, jobs, deadline):
                done.add(row.key)
                yield row
            return
        except BrokenProcessPool:
            due = [case for case in due if case.key not in done]
            tell(f'a process died; {len(due)} cases are left')
            if attempt == _RESTARTS:
                raise EngineError('processes of the evaluation died again and again.') from None


def _run_here(setup: EvalSetup, due: Sequence[Case], deadline: float) -> Iterator[EvalRow]:
    with LocalRobot(setup) as robot:
        for case in due:
            if time.monotonic() > deadline:
                return
            yield robot.run(case)


def _run_pool(setup: EvalSetup, due: Sequence[Case], jobs: int, deadline: float
              ) -> Iterator[EvalRow]:
    # Not by fork: neither CUDA nor llama.cpp survives that.
    context = multiprocessing.get_context('spawn')
    pool = ProcessPoolExecutor(min(jobs, len(due)), context, _begin, (setup,))
    rest, running = iter(due), set[Future[EvalRow]]()
    try:
        while True:
            while len(running) < jobs and time.monotonic() <= deadline:
                case = next(rest, None)
                if case is None:
                    break
                running.add(pool.submit(_run, case))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
