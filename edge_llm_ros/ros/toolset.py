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

"""The tools of a planner, connected to ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edge_llm_ros.ros.action_verb import ActionCall
from edge_llm_ros.ros.argument_types import resolved_tools
from edge_llm_ros.ros.publish_verb import Publish
from edge_llm_ros.ros.read_verb import Read
from edge_llm_ros.ros.service_verb import ServiceCall
from edge_llm_ros.tools.toolset import GatedToolset, LoadedTools

VERBS: Mapping[str, Callable[..., Any]] = {
    'service': ServiceCall, 'action': ActionCall, 'publish': Publish, 'read': Read}


class RosToolset(GatedToolset):
    """
    The gated tools with a client, publisher or subscription each, made once.

    :param node: that owns them
    :param group: their callback group; reentrant, so that no call waits for another
    :raises ConfigError: if a tool does not fit its interface; what was made is given back
    """

    def __init__(self, node: Any, group: Any, loaded: LoadedTools) -> None:
        loaded = resolved_tools(loaded)
        self._made: dict[str, Any] = {}
        try:
            for name, tool in loaded.tools.items():
                kind = next(verb for verb in VERBS if getattr(tool, verb) is not None)
                where = f'{loaded.files[name]}: tools.{name}'
                self._made[name] = VERBS[kind](node, group, tool, where)
        except BaseException:
            self.destroy()
            raise
        super().__init__(loaded, self._made)

    def destroy(self) -> None:
        """Give everything back; no call may be running."""
        for verb in self._made.values():
            verb.destroy()
        self._made.clear()
