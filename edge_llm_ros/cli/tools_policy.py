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

"""`edge_llm tools policy`: an SROS2 policy of exactly the names that a planner needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
import xml.etree.ElementTree as ElementTree

from edge_llm_ros.tools.load_tools import load_tools, LoadedTools
from edge_llm_ros.tools.uses import uses

_VERSION = '0.2.0'  # of sros2's policy schema
_LIFECYCLE = ('change_state', 'get_available_states', 'get_available_transitions', 'get_state',
              'get_transition_graph')
_PARAMETERS = ('describe_parameters', 'get_parameter_types', 'get_parameters', 'list_parameters',
               'set_parameters', 'set_parameters_atomically')
# (kind, qualifier): what the planner itself has, whatever the tools.
_OWN: dict[tuple[str, str], tuple[str, ...]] = {
    ('topic', 'publish'): (
        '/rosout', '/parameter_events', '~/transition_event', '~/tools', '~/confirm_request',
        '~/status', '~/events', '/diagnostics'),
    ('topic', 'subscribe'): ('/clock', '/parameter_events', '~/stop'),
    ('service', 'reply'): tuple(f'~/{name}' for name in (
        *_LIFECYCLE, *_PARAMETERS, 'get_type_description', 'confirm', 'stop', 'release')),
    ('action', 'execute'): ('~/plan',),
}
_ASKING: dict[tuple[str, str], tuple[str, ...]] = {
    ('topic', 'publish'): ('~/question',), ('service', 'reply'): ('~/answer',)}
_HOW = {'publish': ('topic', 'publish'), 'subscribe': ('topic', 'subscribe'),
        'request': ('service', 'request'), 'call': ('action', 'call')}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('files', nargs='+', metavar='YAML', help='tool files')
    parser.add_argument('--node', default='planner', help='name of the planner node')
    parser.add_argument('--namespace', default='/', metavar='NS', help='its namespace')
    parser.add_argument('--enclave', default='', metavar='PATH',
                        help='enclave; the full name of the node where it is left out')
    parser.add_argument('--output', default='', metavar='XML', help='file; the terminal if empty')


def run(args: argparse.Namespace) -> int:
    """Write the policy."""
    text = policy(load_tools(args.files), args.node, args.namespace, args.enclave)
    if args.output:
        Path(args.output).write_text(text)
    else:
        print(text, end='')
    return 0


def policy(loaded: LoadedTools, node: str, namespace: str, enclave: str = '') -> str:
    """
    Return the policy of a planner with these tools as XML.

    Names stay relative, as in the files; sros2 resolves them by the namespace of the profile. A
    remapped name has to be changed in the policy, too.
    """
    allowed: dict[tuple[str, str], list[str]] = {}

    def add(key: tuple[str, str], names: Iterable[str]) -> None:
        known = allowed.setdefault(key, [])
        known += [name for name in names if name not in known]

    for own in (_OWN, _ASKING if loaded.builtins.ask_person else {}):
        for key, own_names in own.items():
            add(key, own_names)
    for use in uses(loaded):
        add(_HOW[use.how], [use.name])
    root = ElementTree.Element('policy', version=_VERSION)
    path = enclave or f'{namespace.rstrip("/")}/{node}'
    place = ElementTree.SubElement(ElementTree.SubElement(root, 'enclaves'), 'enclave', path=path)
    profile = ElementTree.SubElement(
        ElementTree.SubElement(place, 'profiles'), 'profile', ns=namespace, node=node)
    for (kind, qualifier), names in allowed.items():
        group = ElementTree.SubElement(profile, f'{kind}s', {qualifier: 'ALLOW'})
        for name in names:
            ElementTree.SubElement(group, kind).text = name
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
        root, encoding='unicode') + '\n'
