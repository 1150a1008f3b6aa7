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
"""edge_llm trace: shows the file that a planner wrote of a goal (parameter trace_dir)."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.trace.timeline import as_html, as_text, read_trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('file', help='a .trace.jsonl file of trace_dir')
    parser.add_argument('--html', default='', metavar='FILE', help='draw it as a page')


def run(args: argparse.Namespace) -> int:
    """Show a trace; 0 if the goal ended in it."""
    try:
        trace = read_trace(args.file)
    except ConfigError as error:
        print(f'edge_llm trace: {error}', file=sys.stderr)
        return 2
    if args.html:
        Path(args.html).write_text(as_html(trace), encoding='utf-8')
        print(args.html)
    else:
        print(as_text(trace))
    return 0 if trace.end else 1
