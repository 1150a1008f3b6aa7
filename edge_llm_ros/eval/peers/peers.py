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

"""Starts a peer by name."""

from __future__ import annotations

from dataclasses import replace

from edge_llm_ros.engine.llama.context import default_threads
from edge_llm_ros.eval.peers.chat import ChatPeer
from edge_llm_ros.eval.peers.configuration import LLAMA_SERVER, PeerConfiguration
from edge_llm_ros.eval.peers.llama_cpp_python import LlamaCppPython
from edge_llm_ros.eval.peers.llama_server import LlamaServer
from edge_llm_ros.flow.engine import EngineConfig


def start_peer(peer: str, configuration: PeerConfiguration, config: EngineConfig) -> ChatPeer:
    """
    Start a peer.

    :param config: of the engine that it is measured beside: the same model, context and threads
    :raises EdgeLlmError: if it cannot be started
    """
    same = replace(config, threads=config.threads or default_threads())
    kind = LlamaServer if peer == LLAMA_SERVER else LlamaCppPython
    return kind(same, configuration)
