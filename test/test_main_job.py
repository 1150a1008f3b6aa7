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

"""The main job: plain-language goals on the simulated robot with the model of the demo."""

import json
from pathlib import Path
import re
import subprocess
import sys

from edge_llm_ros.cli.demo import GOALS
import pytest


def _demo(*arguments: str, seconds: float) -> subprocess.CompletedProcess:
    command = [sys.executable, '-m', 'edge_llm_ros.cli.main', 'demo', '--prefixes', '', *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_demo_goal_is_reached(demo_model: str, domain: int, tmp_path: Path) -> None:
    result = _demo('--model', demo_model, '--logs', str(tmp_path), seconds=500)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    states = [json.loads(line) for line in lines if line.startswith('{"goal"')]
    assert [s['reached'] for s in states] == [True] * len(GOALS)
    assert states[-1]['place'] == 'office' and states[-1]['gripper'] == 'open'
    assert [s['place'] for s in states[-1]['said']] == ['lab']
    # A goal's first step evaluates the goal's own words, and no more.
    shown = r'first step: prefill (\d+) of (\d+) new tokens, (\d+) cached'
    first = re.findall(shown, result.stdout)
    assert len(first) == len(GOALS)
    for prefill, new, cached in first:
        assert int(prefill) <= int(new) + 1 < 60 and int(cached) > 2000


def test_a_demo_without_a_model_fails_with_the_reason(domain: int, tmp_path: Path) -> None:
    result = _demo('--model', str(tmp_path / 'none.gguf'), '--logs', str(tmp_path), seconds=120)
    assert result.returncode == 2 and 'there is no file' in result.stderr
