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

"""`edge_llm doctor`: what is here, and what to do about what is not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
import importlib
import os

from edge_llm_ros.engine.llama.library import backend
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import BackendInfo, EngineConfig, ModelInfo
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.platform.board import board_name, is_jetson
from edge_llm_ros.platform.memory import available_memory_bytes
from edge_llm_ros.prompt.formats import chat_format
import rclpy

_OK, _WARNING, _ERROR = 'ok', 'warning', 'ERROR'
_DISTROS = ('humble', 'jazzy', 'kilted')
_HEADROOM = 1.5  # times the weights that should be free before they are loaded


@dataclass(frozen=True)
class Finding:
    """
    One thing that was looked at.

    :param advice: what to do, where something is wrong
    """

    state: str
    what: str
    found: str
    advice: str = ''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('--model', default='', metavar='GGUF', help='a model to look at and load')
    parser.add_argument('--context-tokens', type=int, default=8192)


def run(args: argparse.Namespace) -> int:
    """Print all findings; 1 if one of them is an error."""
    worst = 0
    for finding in _findings(args):
        print(f'{finding.state:8} {finding.what:14} {finding.found}')
        if finding.advice:
            print(f'{"":23} {finding.advice}')
        worst = max(worst, int(finding.state == _ERROR))
    return worst


def _findings(args: argparse.Namespace) -> Iterator[Finding]:
    built = backend()
    yield _board()
    yield from _ros()
    yield _backend(built)
    if args.model:
        yield from _model(args.model, args.context_tokens, built)
    else:
        yield Finding(_WARNING, 'model', 'none given', 'Give one with --model FILE to check it.')


def _board() -> Finding:
    available = available_memory_bytes() / 1e9
    name = board_name() or 'a PC'
    return Finding(_OK, 'board', f'{name}, {len(os.sched_getaffinity(0))} cores, '
                                 f'{available:.1f} GB of memory available')


def _ros() -> Iterator[Finding]:
    distro = os.environ.get('ROS_DISTRO', '')
    rmw = rclpy.get_rmw_implementation_identifier()
    found = f'{distro or "not sourced, from wheels"}, {rmw}'
    if distro and distro not in _DISTROS:
        yield Finding(_WARNING, 'ROS 2', found, f'It is tried with {", ".join(_DISTROS)}.')
    else:
        yield Finding(_OK, 'ROS 2', found)
    reach = os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    yield Finding(_OK, 'discovery', f'domain {domain}, range {reach}')
    try:
        importlib.import_module('edge_llm_interfaces.action')
        yield Finding(_OK, 'interfaces', 'edge_llm_interfaces is built')
    except ImportError as error:
        yield Finding(_ERROR, 'interfaces', str(error), 'colcon build --base-paths src '
                      'src/edge_llm_ros/edge_llm_interfaces; then source install/setup.bash')


def _backend(built: BackendInfo) -> Finding:
    kind = 'GPU' if built.gpu else 'CPU only'
    found = f'llama-cpp-python {built.version}, {kind}: {built.system}'
    if 'CUDA' in built.system and not built.gpu:
        return Finding(_ERROR, 'llama.cpp', found, 'The build has CUDA and sees no device: is the '
                       'driver there? In a container: was it started with --runtime nvidia?')
    if is_jetson() and not built.gpu:
        return Finding(_ERROR, 'llama.cpp', found, 'This is a Jetson and the build has no CUDA: '
                       'build it again as in doc/jetson.rst, with CUDACXX set.')
    return Finding(_OK, 'llama.cpp', found)


def _model(path: str, context_tokens: int, built: BackendInfo) -> Iterator[Finding]:
    available = available_memory_bytes()
    try:
        engine = LocalEngine(EngineConfig(model_path=path, context_tokens=512, max_sessions=1))
    except EdgeLlmError as error:
        yield Finding(_ERROR, 'model', str(error))
        return
    try:
        info = engine.info()
        yield Finding(_OK, 'model', f'{info.name}: {info.description}, '
                                    f'{info.size_bytes / 1e9:.2f} GB, '
                                    f'trained for {info.trained_context_tokens} tokens')
        yield _chat_format(info)
        yield _memory(info, context_tokens, available)
        yield _gpu(info, built)
    finally:
        engine.close()


def _chat_format(info: ModelInfo) -> Finding:
    try:
        return Finding(_OK, 'chat format', chat_format('auto', info).name)
    except EdgeLlmError as error:
        return Finding(_ERROR, 'chat format', str(error),
                       'Set chat_format to json: it follows the template of any model.')


def _memory(info: ModelInfo, context_tokens: int, available: int) -> Finding:
    cache = info.kv_bytes_per_token * context_tokens
    found = (f'{info.size_bytes / 1e9:.2f} GB of weights + {cache / 1e9:.2f} GB of KV cache for '
             f'{context_tokens} tokens; {available / 1e9:.2f} GB were available')
    if available and info.size_bytes + cache > available:
        return Finding(_ERROR, 'memory', found,
                       'It does not fit: take a smaller model, or fewer context_tokens.')
    if available and info.size_bytes * _HEADROOM + cache > available:
        return Finding(_WARNING, 'memory', found, 'Little is left for the robot: end the desktop, '
                       'use a smaller model, or fewer context_tokens.')
    return Finding(_OK, 'memory', found)


def _gpu(info: ModelInfo, built: BackendInfo) -> Finding:
    found = f'{info.gpu_layers} of {info.layers + 1} layers on the GPU'
    if built.gpu and info.gpu_layers == 0:
        return Finding(_ERROR, 'GPU', found, 'The build can use a GPU and does not: is the driver '
                       'there? In a container: was it started with --runtime nvidia?')
    if built.gpu and info.gpu_layers <= info.layers:
        return Finding(_WARNING, 'GPU', found, 'Some layers are on the CPU; gpu_layers -1 is all.')
    return Finding(_OK, 'GPU', found if built.gpu else 'none in this build')
