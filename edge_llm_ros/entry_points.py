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

"""The package's commands; where its interfaces are not built, they say how to build them."""

from __future__ import annotations

import importlib
import sys

_NOT_BUILT = (
    'edge_llm_interfaces is not built here, or its workspace is not sourced. The package lies '
    'inside edge_llm_ros, where colcon does not look by itself. In the workspace:\n'
    '  colcon build --base-paths src src/edge_llm_ros/edge_llm_interfaces\n'
    '  source install/setup.bash')


def _run(module: str) -> int:
    """Run the main() of a module; its result is the exit code."""
    try:
        importlib.import_module('edge_llm_interfaces.action')
    except ImportError:
        print(_NOT_BUILT, file=sys.stderr)
        return 2
    try:
        return int(importlib.import_module(f'edge_llm_ros.{module}').main() or 0)
    except KeyboardInterrupt:
        return 130


def edge_llm() -> int:
    """Run the command line."""
    return _run('cli.main')


def plan() -> int:
    """Send a goal."""
    return _run('cli.plan')


def planner() -> int:
    """Run the planner node."""
    return _run('ros.planner_node')


def simulated_robot() -> int:
    """Run the simulated robot."""
    return _run('sim.robot_node')
