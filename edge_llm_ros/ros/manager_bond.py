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

"""The bond by which Nav2's lifecycle manager notices that a node died."""

from __future__ import annotations

import importlib
from typing import Any

from edge_llm_ros.flow.errors import ConfigError

_TOPIC = 'bond'  # relative, as the manager's own is
_PERIOD, _TIMEOUT = 0.25, 4.0  # seconds; the manager's own defaults


class ManagerBond:
    """
    Forms a bond while the planner is active, where the parameter ``bond`` asks for it.

    :param node: the planner node
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._bond: Any = None

    def check(self) -> None:
        """Return if a bond can be formed, or is not asked for; raises ConfigError."""
        if self._node.parameters['bond']:
            self._kind()

    def _kind(self) -> Any:
        try:
            return importlib.import_module('bondpy.bondpy').Bond
        except ImportError as error:
            raise ConfigError(
                f'bond: bondpy cannot be imported ({error}). Install the ROS package bondpy, or '
                f'set bond to false here and bond_timeout of the manager to 0.0.') from None

    def form(self) -> None:
        """Send heartbeats, from a thread of bondpy's own."""
        if self._node.parameters['bond']:
            self._bond = self._kind()(self._node, _TOPIC, self._node.get_name())
            self._bond.heartbeat_period, self._bond.heartbeat_timeout = _PERIOD, _TIMEOUT
            self._bond.start()

    def end(self) -> None:
        """Tell the manager that this end is meant, and give everything back."""
        bond, self._bond = self._bond, None
        if bond is not None:
            bond.shutdown()
            # It gives its own ends back, and leaves them in the node's lists.
            self._node.destroy_subscription(bond.sub)
            self._node.destroy_publisher(bond.pub)
