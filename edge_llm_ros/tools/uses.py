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

"""Every ROS name that tool files map, and how it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.readings import Source
from edge_llm_ros.tools.tool_file import Tool

How = Literal['publish', 'subscribe', 'request', 'call']


@dataclass(frozen=True)
class Use:
    """
    A name of the ROS graph that the planner needs.

    :param how: publish or subscribe (topics), request (services), call (actions)
    :param name: relative, before remapping
    :param type: of the interface
    :param latched: whether the last message is kept for late subscribers
    :param where: key in the tool files
    """

    how: How
    name: str
    type: str
    latched: bool
    where: str


def uses(loaded: LoadedTools) -> Iterator[Use]:
    """Yield every name that the files map."""
    for name, tool in loaded.tools.items():
        yield tool_use(tool, f'tools.{name}')
        for key, argument in tool.arguments.items():
            if argument.values_from is not None:
                yield _source_use(argument.values_from, f'tools.{name}.arguments.{key}')
    for name, signal in loaded.signals.items():
        yield Use('subscribe', signal.topic, signal.type, signal.latched, f'signals.{name}')
    for name, reading in loaded.context_from.items():
        yield _source_use(reading, f'context_from.{name}')
    look_around = loaded.builtins.look_around
    for name, reading in (look_around.readings if look_around else {}).items():
        yield _source_use(reading, f'builtins.look_around.readings.{name}')


def tool_use(tool: Tool, where: str) -> Use:
    """Return the name that a tool calls."""
    if tool.service is not None:
        return Use('request', tool.service.name, tool.service.type, False, where)
    if tool.action is not None:
        return Use('call', tool.action.name, tool.action.type, False, where)
    if tool.publish is not None:
        return Use('publish', tool.publish.topic, tool.publish.type, tool.publish.latched, where)
    assert tool.read is not None
    return Use('subscribe', tool.read.topic, tool.read.type, tool.read.latched, where)


def _source_use(source: Source, where: str) -> Use:
    how: How = 'subscribe' if source.topic is not None else 'request'
    return Use(how, source.name, source.type, source.latched, where)
