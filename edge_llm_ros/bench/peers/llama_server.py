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

"""llama.cpp's server, asked for completions of token ids under a JSON schema."""

from __future__ import annotations

from collections.abc import Iterator
import json
import time
from typing import Any

from edge_llm_ros.bench.arm import StepResult
from edge_llm_ros.bench.peers.server_process import ServerProcess
from edge_llm_ros.bench.script import Script, ScriptStep
from edge_llm_ros.bench.workload import Workload
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.platform.memory import peak_of_process

_CALL_TOKENS = 128


class LlamaServerArm:
    """
    One server on this machine's loopback.

    :param config: of the engine that it is measured beside
    :raises EdgeLlmError: if the program is missing or does not start
    """

    name = 'llama_server'

    def __init__(self, config: EngineConfig) -> None:
        self._server = ServerProcess(config)

    def begin(self, workload: Workload, script: Script, repeat: int) -> None:
        """Evaluate the prefix once, as its users do with a first request."""
        self._script = script
        for _ in self._events({'prompt': list(script.prefix(workload)), 'n_predict': 1}):
            pass

    def _events(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        response = self._server.post('/completion', {
            'cache_prompt': True, 'temperature': 0, 'stream': True, 'id_slot': 0, **request})
        for line in response:
            if line.startswith(b'data: '):
                yield json.loads(line[6:])
        response.close()

    def run(self, step: ScriptStep) -> StepResult:
        """Make one call."""
        start, first, parts = time.monotonic(), 0.0, []
        last: dict[str, Any] = {}
        for last in self._events({'prompt': [*step.tokens, *self._script.json_start],
                                  'n_predict': _CALL_TOKENS,
                                  'json_schema': self._script.json_schema()}):
            first = first or time.monotonic() - start
            parts.append(last.get('content', ''))
        timings = last.get('timings', {})
        return StepResult(first, time.monotonic() - start, ''.join(parts), {
            'cached_tokens': int(timings.get('cache_n', 0)),
            'prefill_tokens': int(timings.get('prompt_n', 0)),
            'sampled_tokens': int(timings.get('predicted_n', 0))})

    def facts(self) -> dict[str, Any]:
        """Return nothing more than what the report has."""
        return {}

    def peak_memory_bytes(self) -> int:
        """Return its largest resident size, in which what is on a GPU has no part."""
        return peak_of_process(self._server.pid)

    def close(self) -> None:
        """End the server."""
        self._server.close()
