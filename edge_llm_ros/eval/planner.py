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

"""What plans in missions without ROS: this package's model, or a peer on the same file."""

from __future__ import annotations

from typing import Protocol

from edge_llm_ros.agent.construction import engine_config, planning_model
from edge_llm_ros.agent.parameters import Parameters
from edge_llm_ros.engine.host import HostEngine
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.eval.peers.configuration import Peer
from edge_llm_ros.eval.peers.peer_model import PeerModel
from edge_llm_ros.eval.peers.peers import start_peer
from edge_llm_ros.eval.robot_tools import RobotTools
from edge_llm_ros.flow.model import Model


class Planner(Protocol):
    """What plans with one set of tools after the other."""

    def take(self, tools: RobotTools) -> Model:
        """Return a model that is ready to plan with these tools and no others."""

    def close(self) -> None:
        """Free everything."""


class OwnPlanner:
    """
    This package's own model, as the planner's node has it.

    :raises EdgeLlmError: if it cannot be loaded
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        kind = HostEngine if parameters['engine_process'] else LocalEngine
        self._engine = kind(engine_config(parameters))

    def take(self, tools: RobotTools) -> Model:
        """Return a model whose prefix is evaluated."""
        model = planning_model(
            self._engine, self._parameters, tools.prompt, tools.schemas, tools.examples)
        for _ in model.warm_up():
            pass
        return model

    def close(self) -> None:
        """Free the model."""
        self._engine.close()


class PeerPlanner:
    """
    A peer; it takes model, context, threads and layers from the planner's parameters.

    :raises EdgeLlmError: if it cannot be started
    """

    def __init__(self, parameters: Parameters, peer: Peer) -> None:
        self._configuration = peer.configuration
        self._peer = start_peer(peer.name, peer.configuration, engine_config(parameters))

    def take(self, tools: RobotTools) -> Model:
        """Return conversations that begin with these tools."""
        return PeerModel(self._peer, self._configuration, tools.prompt.system, tools.schemas,
                         tools.examples)

    def close(self) -> None:
        """End the peer."""
        self._peer.close()
