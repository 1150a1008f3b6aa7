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

"""The command `edge_llm`."""

from __future__ import annotations

import argparse
import sys

from edge_llm_ros.cli import (
    bench, cache, demo, doctor, eval as eval_verb, plan, quantize, tools, trace)

_VERBS = {
    'plan': (plan, 'send a goal to the planner and watch it'),
    'trace': (trace, 'show what happened to a goal, as a timeline'),
    'doctor': (doctor, 'say what is here, and what to do about what is not'),
    'tools': (tools, 'look at tool files, try their tools, write new ones'),
    'cache': (cache, "say what of an agent's prompts is evaluated again"),
    'bench': (bench, 'measure, side by side in one run'),
    'eval': (eval_verb, 'run missions and count how often plans are right'),
    'quantize': (quantize, 'write a model file of fewer bits'),
    'demo': (demo, 'plan on a simulated robot and check what it did'),
}


def main(argv: list[str] | None = None) -> int:
    """Run a verb; its result is the exit code."""
    parser = argparse.ArgumentParser(
        prog='edge_llm', description='Plan goals in plain language on the robot itself.')
    verbs = parser.add_subparsers(dest='verb', required=True)
    for name, (module, text) in _VERBS.items():
        module.add_arguments(verbs.add_parser(name, help=text, description=text))
    args = parser.parse_args(argv)
    code: int = _VERBS[args.verb][0].run(args)
    return code


if __name__ == '__main__':
    sys.exit(main())
