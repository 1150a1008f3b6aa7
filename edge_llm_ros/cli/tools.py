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

"""`edge_llm tools`: look at tool files, try their tools, write new ones."""

from __future__ import annotations

import argparse
import sys

from edge_llm_ros.cli import tools_call, tools_check, tools_policy, tools_scaffold
from edge_llm_ros.flow.errors import EdgeLlmError

_VERBS = {
    'check': (tools_check, 'validate tool files and compare them with the live graph'),
    'call': (tools_call, 'make one call, through the whole gate'),
    'scaffold': (tools_scaffold, 'write a tool for a service, an action or a topic'),
    'policy': (tools_policy, 'write an SROS2 policy of exactly the names that are needed'),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    verbs = parser.add_subparsers(dest='tools_verb', required=True)
    for name, (module, text) in _VERBS.items():
        module.add_arguments(verbs.add_parser(name, help=text, description=text))


def run(args: argparse.Namespace) -> int:
    """Run the verb; 2 if what it was given cannot be used."""
    try:
        return int(_VERBS[args.tools_verb][0].run(args))
    except EdgeLlmError as error:
        print(f'edge_llm tools {args.tools_verb}: {error}', file=sys.stderr)
        return 2
