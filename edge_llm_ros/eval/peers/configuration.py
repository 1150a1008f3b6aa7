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

"""The configurations in which peers are tried; missions are run with the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import enum
from typing import Any

from edge_llm_ros.flow.errors import ConfigError


class Calls(enum.IntEnum):
    """How a peer's calls are asked for and read."""

    TOOLS = 1  # by its API: tools go in, tool_calls come out
    TEXT = 2  # tools go in through the model's template; calls are read from the text
    SCHEMA = 3  # tools are in the system prompt, and the answer is JSON of a schema


@dataclass(frozen=True)
class PeerConfiguration:
    """
    One of them.

    :param about: what it is, for people
    :param max_tokens: of an answer
    :param text_too: whether a call is taken that stands in the text of an answer without one
    :param request: more of a request, by the peer's own names
    :param program: more of how the peer is started, by its own names
    """

    name: str
    about: str
    calls: Calls = Calls.TOOLS
    max_tokens: int = 256
    text_too: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    program: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A peer in a configuration."""

    name: str
    configuration: PeerConfiguration


_AUTO, _REQUIRED = {'tool_choice': 'auto'}, {'tool_choice': 'required'}
_SERVER = (
    PeerConfiguration('default', 'tools API, tool_choice auto', request=_AUTO),
    PeerConfiguration('required', 'tool_choice required', request=_REQUIRED),
    PeerConfiguration('limit_1024', 'answers of up to 1,024 tokens', max_tokens=1024,
                      request=_REQUIRED),
    PeerConfiguration('parallel_off', 'parallel_tool_calls off',
                      request={**_REQUIRED, 'parallel_tool_calls': False}),
    PeerConfiguration('text', 'tools API; calls that it did not find are read from the text',
                      text_too=True, request=_AUTO),
    PeerConfiguration('json_schema', 'response format json_schema instead of tools',
                      calls=Calls.SCHEMA),
    PeerConfiguration('chatml', "chatml template instead of the model's own",
                      request=_REQUIRED, program={'--chat-template': 'chatml'}))

_OWN = {'chat_format': 'chat_template.default'}
_BINDINGS = (
    PeerConfiguration('default', 'its chatml-function-calling handler, tool_choice auto',
                      request=_AUTO, program={'chat_format': 'chatml-function-calling'}),
    PeerConfiguration('template', "the model's own template; calls read from the text",
                      calls=Calls.TEXT, program=_OWN),
    PeerConfiguration('limit_1024', 'the same with answers of up to 1,024 tokens',
                      calls=Calls.TEXT, max_tokens=1024, program=_OWN),
    PeerConfiguration('json_schema', 'response format JSON of a schema instead of tools',
                      calls=Calls.SCHEMA, program=_OWN),
    PeerConfiguration('chatml', 'the same with the plain chatml template',
                      calls=Calls.SCHEMA, program={'chat_format': 'chatml'}))

LLAMA_SERVER, LLAMA_CPP_PYTHON = 'llama_server', 'llama_cpp_python'
CONFIGURATIONS: Mapping[str, Mapping[str, PeerConfiguration]] = {
    LLAMA_SERVER: {c.name: c for c in _SERVER},
    LLAMA_CPP_PYTHON: {c.name: c for c in _BINDINGS}}


def configuration(peer: str, name: str) -> PeerConfiguration:
    """
    Return a peer's configuration by name.

    :raises ConfigError: if there is none
    """
    known = CONFIGURATIONS[peer]
    if name not in known:
        raise ConfigError(f'--peer-config {name}: {peer} has {", ".join(known)}.')
    return known[name]
