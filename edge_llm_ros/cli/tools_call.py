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

"""`edge_llm tools call`: one call from a terminal, through the whole gate."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
import json
from pathlib import Path
import signal
import sys
import threading
from typing import Any

from edge_llm_ros.cli.live_node import live_node, spun
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.errors import ConfigError, EdgeLlmError
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import Observation, REMEMBER, Status, ToolCall, ToolSchema
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.tools.confirmation import ConfirmationRequest, Confirmations
from edge_llm_ros.tools.load_tools import load_tools
from rclpy.callback_groups import ReentrantCallbackGroup

_CODES = {Status.SUCCEEDED: 0, Status.DRY_RUN: 0, Status.CANCELED: 130}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('tool', metavar='TOOL')
    parser.add_argument('arguments', nargs='*', metavar='NAME=VALUE')
    parser.add_argument('--tools', nargs='+', required=True, metavar='YAML', help='tool files')
    parser.add_argument('--dry-run', action='store_true', help='acts are checked, not sent')
    parser.add_argument('--namespace', default='/', metavar='NS')
    parser.add_argument('--notes-file', type=Path, metavar='FILE',
                        help='where remember and recall have their notes; of no running planner')


def run(args: argparse.Namespace) -> int:
    """Make the call; 0 if it worked, 1 if not or if the gate refused it."""
    loaded = load_tools(args.tools)
    if args.tool == REMEMBER and args.notes_file is None:
        raise ConfigError('--notes-file is needed: without it, the note is gone at once.')
    with live_node(args.namespace) as node:
        toolset = RosToolset(node, ReentrantCallbackGroup(), loaded,
                             confirmations=_terminal(), notes_file=args.notes_file)
        try:
            call = tool_call(args.tool, args.arguments, toolset.schemas())
            with spun(node):
                observation = _make(toolset, call, args.dry_run)
        finally:
            toolset.destroy()
    print(observation.text)
    print(f'{observation.status.name}{": " + observation.error if observation.error else ""}',
          file=sys.stderr)
    return _CODES.get(observation.status, 1)


def _terminal() -> Confirmations:
    """Return what asks the person at the terminal; without one, nobody answers, which means no."""
    def ask(request: ConfirmationRequest) -> None:
        print(f'{request.target}\nAllow {request.tool} {request.arguments}? [y/N] ',
              end='', file=sys.stderr, flush=True)

        def answer() -> None:
            confirmations.answer(request.call_id, sys.stdin.readline().strip().lower() == 'y')

        threading.Thread(target=answer, daemon=True).start()

    confirmations = Confirmations(ask)
    return confirmations


def _make(toolset: RosToolset, call: ToolCall, dry_run: bool) -> Observation:
    """Make a call in a thread, so that Ctrl-C can cancel it."""
    cancellation = Cancellation()
    done: list[Observation] = []

    def work() -> None:
        facts = toolset.facts(frozenset({call.name}), cancellation)
        if facts.text:
            print(facts.text, file=sys.stderr)
        done.append(toolset.call(call, cancellation, allowed=None, dry_run=dry_run, facts=facts,
                                 on_progress=lambda line: print(line, file=sys.stderr)))

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The robot must not go on because a terminal was closed.
        signal.signal(number, lambda *_: cancellation.cancel(Outcome.CANCELED))
    working = threading.Thread(target=work, daemon=True)
    working.start()
    while working.is_alive():
        working.join(0.2)
    if not done:
        raise EdgeLlmError('the call failed in the planner itself; see above.')
    return done[0]


def tool_call(name: str, words: Sequence[str], schemas: Sequence[ToolSchema]) -> ToolCall:
    """
    Return the call that a command line means; the gate judges it, not this.

    :param words: NAME=VALUE each; values of other types than text as JSON
    :raises EdgeLlmError: if there is no such tool, or a value is not of the argument's type
    """
    tool = next((schema for schema in schemas if schema.name == name), None)
    if tool is None:
        raise EdgeLlmError(f'there is no tool {name!r}; tools: '
                           f'{", ".join(schema.name for schema in schemas)}.')
    properties: Mapping[str, Any] = tool.parameters['properties']
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition('=')
        if not equals:
            raise EdgeLlmError(f'{word!r}: write NAME=VALUE.')
        kind = properties.get(key, {}).get('type', 'string')
        try:
            arguments[key] = text if kind == 'string' else json.loads(text)
        except ValueError:
            raise EdgeLlmError(
                f'{key}: {text!r} is not of type {kind}; write it as JSON.') from None
    return ToolCall(name, arguments)
