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

"""Many goals, with faults of everybody: each ends once, nothing hangs, memory stays."""

import statistics

from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.plan_client import outcome_name
import pytest
from robot_bench import Bench
from soak import Findings, Soak, soak_tools

OUTCOME = Plan.Result


def _soak(bench: Bench, model: str, goals: int) -> Findings:
    bench.robot(speed=20.0)
    planner = bench.planner(
        model, soak_tools(), threads=1, guess=False, session_tokens=600, call_tokens=200,
        text_length=20, time_budget=20.0, step_budget=20.0, context_tokens=4096,
        prefix_folder=str(bench.folder / 'prefixes'), builtins={
            'finish': True, 'wait': 0.2, 'compare': False})
    soak = Soak(bench, planner, goals)
    found = soak.run()
    soak.check_states()
    names = {outcome_name(o): n for o, n in found.outcomes.items()}
    print(f'{goals} goals: {names}; {found.rejected} rejected, {found.kills} kills, '
          f'{found.changes} changes; longest {found.longest:.1f} s')
    print('engine errors:', dict(found.errors))
    print('memory of node and engine [kB]:', found.memory)
    print('memory of the node [kB]:', found.node_memory)
    assert 'Traceback' not in bench.logs()
    assert planner.stop() == 0
    return found


def _growth(samples: list[int]) -> float:
    """Return the growth from the first tenth of some samples to the last."""
    part = max(1, len(samples) // 10)
    return statistics.median(samples[-part:]) / statistics.median(samples[:part]) - 1


def test_a_hundred_goals(bench: Bench, tiny_model: str) -> None:
    found = _soak(bench, tiny_model, 100)
    assert {OUTCOME.CANCELED, OUTCOME.ENGINE_ERROR} <= set(found.outcomes)
    # So few goals cannot tell a leak of one percent from the noise of an allocator.
    assert _growth(found.memory) < 0.05


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_goals(bench: Bench, test_model: str) -> None:
    found = _soak(bench, test_model, 1000)
    assert {OUTCOME.CANCELED, OUTCOME.ENGINE_ERROR, OUTCOME.TIMEOUT, OUTCOME.STOPPED} <= set(
        found.outcomes)
    assert _growth(found.memory) < 0.01
    # The node's allocator takes some hundred goals until it finds room for everything.
    assert _growth(found.node_memory[len(found.node_memory) // 2:]) < 0.02
