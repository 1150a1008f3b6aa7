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

"""`edge_llm tools check`: what the model will see of tool files, and whether the robot fits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
import time
from typing import Any

from edge_llm_ros.cli.live_node import live_node
from edge_llm_ros.cli.tools_scaffold import FILL_IN
from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.prompt.chat_format import signature
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.pieces import PieceTokenizer
from edge_llm_ros.ros.graph import Graph
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.tools.builtins import builtin_schemas
from edge_llm_ros.tools.load_tools import load_tools, LoadedTools
from edge_llm_ros.tools.uses import tool_use, Use, uses
from rclpy.callback_groups import ReentrantCallbackGroup


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('files', nargs='+', metavar='YAML', help='tool files')
    parser.add_argument('--model', default='', metavar='GGUF',
                        help='counts the tokens of each tool; only the vocabulary is loaded')
    parser.add_argument('--chat-format', default='auto')
    parser.add_argument('--graph', type=float, default=3.0, metavar='SECONDS',
                        help='look for the peers on the live graph for this long; 0: not at all')
    parser.add_argument('--namespace', default='/', metavar='NS')


def run(args: argparse.Namespace) -> int:
    """Print what each tool is; 1 if one cannot work, or its peer is not there."""
    loaded = load_tools(args.files)
    with live_node(args.namespace) as node:
        schemas, problems, unexposed = _interfaces(node, loaded)
        with _costs(args, schemas) as costs:
            for schema in schemas:
                _show(schema, loaded, costs, unexposed.get(schema.name, {}))
        problems += _fill_in(loaded)
        if args.graph:
            problems += _peers(Graph(node), list(uses(loaded)), args.graph)
    for problem in problems:
        print(f'PROBLEM  {problem}')
    built_in = len(builtin_schemas(loaded.builtins))
    print(f'{len(loaded.tools)} tools, {built_in} built in, {len(problems)} problems')
    return 1 if problems else 0


def _interfaces(node: Any, loaded: LoadedTools
                ) -> tuple[list[ToolSchema], list[str], dict[str, Mapping[str, Any]]]:
    """Hold each tool against its interface; one that does not fit hides no other."""
    problems: list[str] = []
    unexposed: dict[str, Mapping[str, Any]] = {}
    schemas: dict[str, ToolSchema] = {}
    parts = [replace(loaded, tools={name: tool}, context_from={}, builtins=type(loaded.builtins)())
             for name, tool in loaded.tools.items()]
    for part in [*parts, replace(loaded, tools={})]:
        try:
            toolset = RosToolset(node, ReentrantCallbackGroup(), part)
        except ConfigError as error:
            problems.append(str(error))
            continue
        schemas.update({s.name: s for s in toolset.schemas() if part.tools.keys() <= {s.name}})
        for name in part.tools:
            unexposed[name] = toolset.unexposed(name)
        toolset.destroy()
    return list(schemas.values()), problems, unexposed


def _show(schema: ToolSchema, loaded: LoadedTools, costs: Mapping[str, int],
          unexposed: Mapping[str, Any]) -> None:
    tool = loaded.tools.get(schema.name)
    cost = f'  {costs[schema.name]} tokens' if schema.name in costs else ''
    if tool is None:
        print(f'{schema.name}  built in{cost}')
    else:
        use = tool_use(tool, schema.name)
        print(f'{schema.name}  {tool.effect}  {use.how} {use.name} {use.type}{cost}')
    print(f'  prompt       {canonical_json(signature(schema))}')
    print(f'  schema       {canonical_json(dict(schema.parameters))}')
    if schema.chosen:
        print(f'  read anew    {", ".join(schema.chosen)}')
    for path, value in unexposed.items():
        print(f'  not exposed  {path} = {canonical_json(value)}')


@contextmanager
def _costs(args: argparse.Namespace, schemas: Sequence[ToolSchema]
           ) -> Iterator[Mapping[str, int]]:
    """Give what each tool adds to the prompt, in tokens of a model."""
    if not args.model:
        yield {}
        return
    vocabulary = ModelVocabulary(args.model)
    try:
        info = vocabulary.info()
        form = chat_format(args.chat_format, info)
        tokenizer = PieceTokenizer(vocabulary, info.special_tokens)

        def length(tools: Sequence[ToolSchema]) -> int:
            return len(tokenizer.tokens(form.prefix('', tools, [])))

        whole = length(schemas)
        yield {s.name: whole - length([t for t in schemas if t is not s]) for s in schemas}
        print(f'all tools: {whole - length([])} tokens with {form.name}')
    finally:
        vocabulary.close()


def _fill_in(loaded: LoadedTools) -> Iterator[str]:
    for name, tool in loaded.tools.items():
        texts = {'description': tool.description, **{
            f'arguments.{key}': argument.description for key, argument in tool.arguments.items()}}
        for key, text in texts.items():
            if FILL_IN in text:
                yield f'{loaded.files[name]}: tools.{name}.{key}: is still to be filled in.'


def _peers(graph: Graph, wanted: Sequence[Use], seconds: float) -> list[str]:
    """Return what is missing on the graph, after some time for discovery."""
    deadline = time.monotonic() + seconds
    while True:
        problems = [f'{use.where}: {reason}' for use in wanted if (reason := graph.why_not(use))]
        if not problems or time.monotonic() > deadline:
            return problems
        time.sleep(0.1)
