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

"""The tools API of llama.cpp's server."""

from __future__ import annotations

from collections.abc import Sequence
import json
from typing import Any

from edge_llm_ros.bench.peers.server_process import ServerProcess
from edge_llm_ros.eval.peers.chat import (
    answer_schema, calls_in_text, ChatReply, functions, Message)
from edge_llm_ros.eval.peers.configuration import Calls, PeerConfiguration
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import ContextFull, EngineError
from edge_llm_ros.flow.tool import ToolSchema

_PATH = '/v1/chat/completions'
_OK, _OWN_FAULT = 200, 500
_TOO_LONG = 'exceed_context_size_error'


class LlamaServer:
    """
    One server with a model.

    :param config: how the model is loaded
    :raises EdgeLlmError: if the program is missing or does not start
    """

    def __init__(self, config: EngineConfig, configuration: PeerConfiguration) -> None:
        self._configuration = configuration
        self._server = ServerProcess(config, {'--jinja': '', **configuration.program})

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ChatReply:
        """Return the next message of the assistant."""
        status, data = self._post(self._request(messages, tools))
        if status == _OWN_FAULT:
            # It generated something that it cannot read itself: a call that is none.
            return ChatReply((), _error(data))
        if status != _OK:
            kind = ContextFull if _TOO_LONG in json.dumps(data) else EngineError
            raise kind(f'llama-server answers {status}: {_error(data)}')
        message, timings = data['choices'][0]['message'], data.get('timings', {})
        text = message.get('content') or ''
        calls = tuple((call['function']['name'] or '', call['function']['arguments'])
                      for call in message.get('tool_calls') or ())
        if self._configuration.calls is not Calls.TOOLS or (
                self._configuration.text_too and not calls):
            calls = calls_in_text(text)
            text = '' if calls else text
        return ChatReply(calls, text, int(timings.get('prompt_n', 0)),
                         int(timings.get('cache_n', 0)), int(timings.get('predicted_n', 0)))

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]
                 ) -> dict[str, Any]:
        request = {'messages': list(messages), 'temperature': 0, 'cache_prompt': True,
                   'id_slot': 0, 'max_tokens': self._configuration.max_tokens,
                   **self._configuration.request}
        if self._configuration.calls is Calls.SCHEMA:
            return {**request, 'response_format': {'type': 'json_schema', 'json_schema': {
                'name': 'call', 'strict': True, 'schema': answer_schema(tools)}}}
        return {**request, 'tools': functions(tools)}

    def _post(self, request: dict[str, Any]) -> tuple[int, Any]:
        try:
            response = self._server.post(_PATH, request)
            return response.status, json.loads(response.read())
        except (OSError, ValueError) as error:
            raise EngineError(f'llama-server does not answer: {error}') from error

    def close(self) -> None:
        """End the server."""
        self._server.close()


def _error(data: Any) -> str:
    error = data.get('error', data) if isinstance(data, dict) else data
    return str(error.get('message', error) if isinstance(error, dict) else error)
