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

"""edge_llm cache: what of an agent's prompts is evaluated again."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

from ament_index_python.packages import get_package_share_directory
from edge_llm_ros.bench.agent_task import run_task
from edge_llm_ros.bench.prompt_log import read_log
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.prompt.dynamic_text import dynamic_prefix
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.ros.argument_types import resolved_tools
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.toolset import GatedToolset

_PAYS = 0.8  # share of repetition from which on reuse changes how a robot feels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    config = Path(get_package_share_directory('edge_llm_ros')) / 'config'
    parser.add_argument('--model', default='', metavar='GGUF', help='file of the model')
    parser.add_argument('--tools', nargs='+', metavar='YAML',
                        default=[str(config / 'simulated_robot.yaml')], help='tool files')
    parser.add_argument('--prompt', metavar='YAML', default=str(config / 'prompt.yaml'),
                        help='prompt file')
    parser.add_argument('--chat-format', default='auto')
    parser.add_argument('--context-tokens', type=int, default=8192)
    parser.add_argument('--threshold', type=float, default=0.8, metavar='SHARE',
                        help='a lower hit rate makes the command exit with 1')
    parser.add_argument('--allow-dynamic', action='store_true',
                        help='go on where text of the prefix looks as if it changed')
    parser.add_argument('--log', default='', metavar='JSONL',
                        help='prompts of your own agent instead, one JSON object a line')


def run(args: argparse.Namespace) -> int:
    """Run the task or read the log; 0 if the hit rate is at least the threshold."""
    try:
        if not args.model and not args.log:
            raise EdgeLlmError('give --model GGUF, or --log JSONL, or both.')
        rate = _log(args) if args.log else _task(args)
    except EdgeLlmError as error:
        print(f'edge_llm cache: {error}', file=sys.stderr)
        return 2
    if rate < args.threshold:
        print(f'The hit rate is below {args.threshold:.0%}.', file=sys.stderr)
        return 1
    return 0


def _task(args: argparse.Namespace) -> float:
    tools = GatedToolset(resolved_tools(load_tools(args.tools)), {}).schemas()
    prompt = read_file(args.prompt, PromptFile)
    examples = prompt.for_tools(args.prompt, tools)
    warnings = dynamic_prefix(prompt.system, tools, examples)
    for warning in warnings:
        print(f'{args.prompt}: {warning}', file=sys.stderr)
    if warnings and not args.allow_dynamic:
        raise EdgeLlmError('the prefix looks as if it changed from start to start; if it does '
                           'not, say --allow-dynamic.')
    engine = LocalEngine(EngineConfig(model_path=args.model, context_tokens=args.context_tokens))
    try:
        model = LocalModel(engine, chat_format(args.chat_format, engine.info()), prompt.system,
                           tools, examples, GenerationLimits())
        print(f'prefix: {len(model.prefix)} tokens, evaluated once')
        for _ in model.warm_up():
            pass
        return _turns(model)
    finally:
        engine.close()


def _turns(model: LocalModel) -> float:
    total = TokenCounts()
    print(f'{"goal":>4}  {"call":16} {"prompt":>7} {"cached":>7} {"prefill":>7} {"new":>5} '
          f'{"hit rate":>8}')
    for turn in run_task(model, [tool.name for tool in model.tools]):
        counts, total = turn.counts, total + turn.counts
        print(f'{turn.goal:4}  {turn.tool:16} {counts.prompt:7} {counts.cached:7} '
              f'{counts.prefill:7} {counts.new:5} {counts.cache_hit_rate:8.1%}'
              + (f'  {turn.lost}' if turn.lost else ''))
    print(f'{"":4}  {"all":16} {total.prompt:7} {total.cached:7} {total.prefill:7} '
          f'{total.new:5} {total.cache_hit_rate:8.1%}')
    return total.cache_hit_rate


def _log(args: argparse.Namespace) -> float:
    engine = LocalEngine(EngineConfig(
        model_path=args.model, context_tokens=512, max_sessions=1)) if args.model else None
    try:
        unit = 'tokens' if engine else 'bytes'
        prompts = list(read_log(args.log, (
            lambda text: engine.tokenize(text, True)) if engine else (
                lambda text: tuple(text.encode()))))
    finally:
        if engine:
            engine.close()
    tokens = sum(prompt.tokens for prompt in prompts)
    repeated = sum(prompt.repeated for prompt in prompts)
    share = repeated / tokens if tokens else 0.0
    print(f'{len(prompts)} prompts, {tokens} {unit}; {repeated} of them ({share:.1%}) begin as an '
          f'earlier prompt did.')
    print(f'With reuse {tokens - repeated} {unit} are evaluated'
          + (f', {tokens / (tokens - repeated):.1f} times fewer.' if tokens else '.'))
    print('Reuse pays.' if share >= _PAYS else
          'Reuse helps little: look for what changes near the start of the prompts.')
    return share
