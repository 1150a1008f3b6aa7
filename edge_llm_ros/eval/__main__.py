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

"""Missions on a machine that has no ROS: python -m edge_llm_ros.eval --model model.gguf."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

from edge_llm_ros.eval.command import add_mission_arguments, run_without_ros
from edge_llm_ros.flow.errors import EdgeLlmError

_BESIDE = Path(__file__).resolve().parents[2] / 'config'


def main(argv: list[str] | None = None) -> int:
    """Run missions; the result is the exit code."""
    parser = argparse.ArgumentParser(
        prog='python -m edge_llm_ros.eval', description='Run missions in processes, without ROS.')
    add_mission_arguments(parser)
    parser.add_argument('--config', type=Path, default=_BESIDE, metavar='FOLDER',
                        help="holds the package's prompt.yaml and simulated_robot.yaml")
    args = parser.parse_args(argv)
    try:
        return run_without_ros(args, args.config)
    except KeyboardInterrupt:
        return 130
    except EdgeLlmError as error:
        print(f'edge_llm eval: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
