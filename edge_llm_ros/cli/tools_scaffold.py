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

"""`edge_llm tools scaffold`: a tool for what is on the graph, with what a person must fill in."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import importlib
import re
import time
from typing import Any

from edge_llm_ros.cli.live_node import live_node
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.ros.messages import interface
from rclpy.action import get_action_names_and_types
from rosidl_parser.definition import AbstractGenericString, BasicType, NamespacedType

FILL_IN = 'FILL IN'
_TYPE = re.compile(r'\w+/(msg|srv|action)/\w+')
_MOST = 8  # arguments: what a small model can keep apart
_DEPTH = 5
_KINDS = {'boolean': 'boolean', 'float': 'number', 'double': 'number'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('what', metavar='NAME|TYPE',
                        help='a name on the live graph, or a type such as std_srvs/srv/SetBool')
    parser.add_argument('--name', default='', help='name on the graph, where a type is given')
    parser.add_argument('--tool', default='', help='name of the tool')
    parser.add_argument('--publish', action='store_true', help='publish on the topic, not read it')
    parser.add_argument('--namespace', default='/', metavar='NS')
    parser.add_argument('--wait', type=float, default=3.0, metavar='SECONDS',
                        help='for the name to be found on the graph')


def run(args: argparse.Namespace) -> int:
    """Print a tool file."""
    if _TYPE.fullmatch(args.what):
        name = args.name or _snake(args.what.split('/')[-1])
        kind, publish = args.what, args.publish
    else:
        name = args.what.lstrip('/')
        kind, publish = _on_graph(name, args)
    print(tool_text(kind, name, args.tool or _snake(name.split('/')[-1]), publish), end='')
    return 0


def _snake(name: str) -> str:
    """Return a name as tools have them."""
    words = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()
    return re.sub(r'\W+', '_', words).strip('_') or 'tool'


def _on_graph(name: str, args: argparse.Namespace) -> tuple[str, bool]:
    """Return the type of a name on the graph, and whether to publish on it."""
    with live_node(args.namespace) as node:
        full = node.resolve_topic_name(name)
        deadline = time.monotonic() + args.wait
        while True:
            for find in (lambda: get_action_names_and_types(node),
                         node.get_service_names_and_types, node.get_topic_names_and_types):
                types = dict(find()).get(full)
                if types:
                    silent = not node.count_publishers(full)
                    return types[0], args.publish or silent
            if time.monotonic() > deadline:
                raise EdgeLlmError(f'nothing of the name {full} is on the graph. Is its node up, '
                                   'in this domain? Or give a type.')
            time.sleep(0.1)


def tool_text(kind: str, name: str, tool: str, publish: bool) -> str:
    """
    Return a tool file with one tool.

    :param kind: interface
    :param publish: whether a topic is published on rather than read
    """
    found = interface(kind, kind)
    verb = kind.split('/')[1]
    key = {'srv': 'service', 'action': 'action', 'msg': 'publish' if publish else 'read'}[verb]
    at = 'topic' if verb == 'msg' else 'name'
    asked = {'srv': lambda: found.Request, 'action': lambda: found.Goal,
             'msg': lambda: found if publish else None}[verb]()
    told = {'srv': lambda: found.Response, 'action': lambda: found.Result,
            'msg': lambda: None if publish else found}[verb]()
    effect = 'read' if key == 'read' else 'act'
    lines = ['version: 1', 'tools:', f'  {tool}:',
             f'    description: "{FILL_IN}: what it does, in one sentence for the model"',
             f'    effect: {effect}' + (f'  # {FILL_IN}: read, if nothing moves'
                                        if key in ('service', 'action') else ''),
             f'    {key}: {{{at}: {name}, type: {kind}}}',
             *(_arguments(asked) if asked else []), *(_results(told) if told else [])]
    lines += [f'    timeout: 60.0  # {FILL_IN}: seconds'] if key == 'action' else []
    return '\n'.join(lines) + '\n'


def _arguments(asked: Any) -> Iterator[str]:
    leaves = list(_leaves(asked))
    simple = [(path, kind) for path, kind in leaves if kind]
    names = [path.split('.')[-1] for path, _ in simple]
    exposed = simple[:_MOST]
    if exposed:
        yield '    arguments:'
    for path, kind in exposed:
        last = path.split('.')[-1]
        name = _snake(path) if names.count(last) > 1 else _snake(last)
        field = f', field: {path}' if name != path else ''
        bounds = f'  # {FILL_IN}: unit, minimum, maximum' if kind in ('number', 'integer') else ''
        yield (f'      {name}: {{description: "{FILL_IN}", type: {kind}{field}}}{bounds}')
    rest = [path for path, _ in leaves if (path, _) not in exposed]
    if rest:
        yield '    # Not exposed; these keep their defaults, or what "fixed:" says:'
        yield f'    #   {", ".join(rest)}'


def _results(told: Any) -> Iterator[str]:
    paths = [path for path, kind in _leaves(told) if kind]
    if paths:
        yield f'    result: {canonical_json(paths[:_MOST])}  # {FILL_IN}: what the model needs'


def _leaves(of: Any, prefix: str = '', depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield path and JSON type of each field; no type where it is no single value."""
    for name, kind in zip(of.get_fields_and_field_types(), of.SLOT_TYPES):
        path = f'{prefix}{name}'
        if isinstance(kind, BasicType) and kind.typename != 'octet':
            yield path, _KINDS.get(kind.typename, 'integer')
        elif isinstance(kind, AbstractGenericString):
            yield path, 'string'
        elif isinstance(kind, NamespacedType) and depth < _DEPTH and kind.name not in (
                'Header', 'Time', 'Duration'):
            module = importlib.import_module('.'.join(kind.namespaces))
            yield from _leaves(getattr(module, kind.name), f'{path}.', depth + 1)
        elif name != 'structure_needs_at_least_one_member':
            yield path, ''
