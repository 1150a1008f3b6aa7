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
import subprocess
import sys

from edge_llm_ros.cli.demo import GOALS
import pytest


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_demo_goal_is_reached(demo_model: str, domain: int, tmp_path) -> None:
    result = subprocess.run([
        sys.executable, '-m', 'edge_llm_ros.cli.main', 'demo', '--model', demo_model, '--logs',
        str(tmp_path)
    ],
                            capture_output=True,
                            text=True,
                            timeout=500)
    assert result.returncode == 0, result.stdout + result.stderr
    states = [
        json.loads(line) for line in result.stdout.splitlines() if line.startswith('{"goal"')
    ]
    assert [s['reached'] for s in states] == [True] * len(GOALS)
    assert states[-1]['place'] == 'office' and states[-1]['gripper'] == 'open'
    assert [s['place'] for s in states[-1]['said']] == ['lab']
    first = [line for line in result.stdout.splitlines() if 'prompt' in line and 'prefill' in line]
    assert len(first) == len(GOALS)


def test_a_demo_without_a_model_fails_with_the_reason(domain: int, tmp_path) -> None:
    result = subprocess.run([
        sys.executable, '-m', 'edge_llm_ros.cli.main', 'demo', '--model',
        str(tmp_path / 'none.gguf'), '--logs',
        str(tmp_path)
    ],
                            capture_output=True,
                            text=True,
                            timeout=120)
    assert result.returncode == 2 and 'there is no file' in result.stderr
