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

"""edge_llm bench: measures, side by side in one run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
import sys
from typing import Any

from edge_llm_ros.bench import kv_memory
from edge_llm_ros.bench.kv_types import compare_types
from edge_llm_ros.bench.report import meta, write_report
from edge_llm_ros.bench.row import Row
from edge_llm_ros.flow.errors import EdgeLlmError

_PARTS = ('counts', 'first_token', 'fork', 'configure', 'growth', 'kv_types')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'of {", ".join(_PARTS)}; default: all but the last, which takes an '
                             'hour on a CPU')
    parser.add_argument('--model', required=True, metavar='GGUF', help='file of the model')
    parser.add_argument('--counts-model', default='', metavar='GGUF',
                        help='a small model for what is only counted')
    parser.add_argument('--scale', type=float, default=1.0, help='of the texts that are counted')
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--steps', type=int, default=2000, help='of the memory test')
    parser.add_argument('--calls', type=int, default=200, help='of the comparison of KV types')
    parser.add_argument('--out', default='build/bench', metavar='FOLDER')


def run(args: argparse.Namespace) -> int:
    """Measure and write the report; 0 if all of it could be measured."""
    unknown = sorted(set(args.parts) - set(_PARTS))
    if unknown:
        print(f'edge_llm bench: no part {unknown[0]!r}; parts: {", ".join(_PARTS)}.',
              file=sys.stderr)
        return 2
    chosen = args.parts or list(_PARTS[:-1])

    def tell(line: str) -> None:
        print(line, flush=True)

    small = args.counts_model or args.model
    rows: list[Row] = []
    tables: dict[str, list[dict[str, Any]]] = {}
    measures: Mapping[str, Callable[[], Iterator[Row]]] = {
        'counts': partial(kv_memory.counts, small, args.scale, tell),
        'first_token': partial(kv_memory.first_token_by_prefix, args.model, args.repeats, tell),
        'fork': partial(kv_memory.forks, small, 4 * args.repeats, tell),
        'configure': partial(kv_memory.configure, args.model, 2048, args.repeats, tell),
        'growth': partial(kv_memory.growth, small, args.steps, tell)}
    try:
        for name, measure in measures.items():
            if name in chosen:
                rows += measure()
        if 'kv_types' in chosen:
            tables['KV types'] = compare_types(args.model, calls=args.calls, tell=tell)
    except EdgeLlmError as error:
        print(f'edge_llm bench: {error}', file=sys.stderr)
        return 2
    facts = meta(args.model, counts_model=small, scale=args.scale, repeats=args.repeats)
    print(f'report: {write_report(args.out, facts, rows, tables)}/report.md')
    return 0
