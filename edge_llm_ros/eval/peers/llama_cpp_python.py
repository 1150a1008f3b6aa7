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

"""The function calling of llama-cpp-python's own Llama class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edge_llm_ros.eval.peers.chat import (
    answer_schema, calls_in_text, ChatReply, functions, Message)
from edge_llm_ros.eval.peers.configuration import Calls, PeerConfiguration
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import ContextFull
from edge_llm_ros.flow.tool import ToolSchema
from llama_cpp.llama import Llama

_TOO_LONG = 'exceed context window'


class _CountingLlama(Llama):  # type: ignore[misc]
    """Counts the tokens that it evaluates, which no answer tells."""

    evaluated = 0

    def eval(self, tokens: Sequence[int]) -> None:
        """Evaluate tokens."""
        self.evaluated += len(tokens)
        super().eval(tokens)


class LlamaCppPython:
    """
    One Llama; it keeps the tokens that one prompt shares with the one before.

    :param config: how the model is loaded
    """

    def __init__(self, config: EngineConfig, configuration: PeerConfiguration) -> None:
        self._configuration = configuration
        self._llama = _CountingLlama(
            config.model_path, n_ctx=config.context_tokens, n_batch=config.batch_tokens,
            n_threads=config.threads, n_threads_batch=config.batch_threads or config.threads,
            n_gpu_layers=config.gpu_layers, verbose=False, **configuration.program)

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ChatReply:
        """Return the next message of the assistant."""
        before = self._llama.evaluated
        said: Any = list(messages)
        try:
            data: Any = self._llama.create_chat_completion(said, **self._request(tools))
        except ValueError as error:
            if _TOO_LONG in str(error):
                raise ContextFull(f'llama-cpp-python: {error}') from error
            raise
        message, usage = data['choices'][0]['message'], data['usage']
        text = message.get('content') or ''
        calls = tuple((call['function']['name'], call['function']['arguments'])
                      for call in message.get('tool_calls') or ())
        if self._configuration.calls is not Calls.TOOLS:
            calls = calls_in_text(text)
            text = '' if calls else text
        generated = int(usage['completion_tokens'])
        prefill = max(0, self._llama.evaluated - before - generated)
        return ChatReply(calls, text, prefill,
                         max(0, int(usage['prompt_tokens']) - prefill), generated)

    def _request(self, tools: Sequence[ToolSchema]) -> dict[str, Any]:
        request: dict[str, Any] = {
            'temperature': 0.0, 'max_tokens': self._configuration.max_tokens,
            **self._configuration.request}
        if self._configuration.calls is Calls.SCHEMA:
            return {**request, 'response_format': {
                'type': 'json_object', 'schema': answer_schema(tools)}}
        return {**request, 'tools': functions(tools)}

    def close(self) -> None:
        """Free the model."""
        self._llama.close()
