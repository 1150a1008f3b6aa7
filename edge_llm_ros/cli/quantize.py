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

"""edge_llm quantize: a file of fewer bits, with the errors where they matter least."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
import time

from ament_index_python.packages import get_package_share_directory
from edge_llm_ros.engine.llama.activations import Importance
from edge_llm_ros.engine.llama.quantize import check_source, FILE_TYPES, quantize
from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.engine.reading import importance
from edge_llm_ros.eval.eval_setup import eval_setup
from edge_llm_ros.eval.mission import all_cases
from edge_llm_ros.eval.selection import Selection
from edge_llm_ros.eval.transcript import context_for, readings
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.prompt.formats import chat_format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('source', metavar='IN.gguf', help='file of 16 bits, or of 8')
    parser.add_argument('target', type=Path, metavar='OUT.gguf', help='file to write')
    parser.add_argument('--type', choices=tuple(FILE_TYPES), default='Q4_K_M')
    parser.add_argument('--calibrate', action='store_true',
                        help='let the model read tool calls first, and keep best what they need')
    parser.add_argument('--cases', type=int, default=48, metavar='N',
                        help='with --calibrate: of the tuning missions, kinds by turns')
    parser.add_argument('--requantize', action='store_true',
                        help='take a file of few bits all the same, for an experiment')
    parser.add_argument('--threads', type=int, default=0)


def run(args: argparse.Namespace) -> int:
    """Write the file; 0 if it is there."""
    try:
        check_source(args.source, args.requantize)
        weights = _importance(args) if args.calibrate else {}
        start = time.monotonic()
        quantize(args.source, args.target, args.type, weights, args.threads, args.requantize)
    except KeyboardInterrupt:
        return 130
    except EdgeLlmError as error:
        print(f'edge_llm quantize: {error}', file=sys.stderr)
        return 2
    sizes = [path.stat().st_size / 1e9 for path in (Path(args.source), args.target)]
    print(f'{args.target}: {args.type}, {sizes[1]:.2f} GB of {sizes[0]:.2f} GB, '
          f'{"with" if weights else "without"} calibration, {time.monotonic() - start:.0f} s')
    return 0


def _importance(args: argparse.Namespace) -> Importance:
    """Let the model read reference solutions of tuning missions."""
    config = Path(get_package_share_directory('edge_llm_ros')) / 'config'
    setup = eval_setup(
        args.source, config / 'prompt.yaml', config / 'simulated_robot.yaml', {}, {}, 'quantize')
    cases = Selection('tuning', limit=args.cases).of(list(all_cases(setup.sets.places)))
    model = ModelVocabulary(args.source)
    try:
        found = readings(model, chat_format('auto', model.info()), setup, cases)
    finally:
        model.close()
    conversations = [text for reading in found for text in reading.conversations()]
    start = time.monotonic()
    weights = importance(EngineConfig(
        args.source, context_tokens=context_for(found, 0), threads=args.threads), conversations)
    read = sum(len(reading.prefix) for reading in found) + sum(
        len(tokens) for _, tokens in conversations)
    print(f'calibrated {len(weights)} weights with {read} tokens of {len(cases)} missions, '
          f'{time.monotonic() - start:.0f} s', flush=True)
    return weights
