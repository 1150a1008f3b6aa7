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
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from typing import Any

from edge_llm_ros.bench.arm import StepResult
from edge_llm_ros.bench.script import Script, ScriptStep
from edge_llm_ros.bench.workload import Workload
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.platform.memory import peak_of_process

_CALL_TOKENS = 128
_READY_SECONDS = 180.0


def server_path() -> str | None:
    """Return the program, from LLAMA_SERVER or the path; None where there is none."""
    return os.environ.get('LLAMA_SERVER') or shutil.which('llama-server')


class LlamaServerArm:
    """
    One server on this machine's loopback.

    :param config: of the engine that it is measured beside
    :raises EdgeLlmError: if the program is missing or does not start
    """

    name = 'llama_server'

    def __init__(self, config: EngineConfig) -> None:
        program = server_path()
        if program is None:
            raise EdgeLlmError('llama-server is missing: call make bench-peers.')
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self._port = probe.getsockname()[1]
        self._process = subprocess.Popen([
            program, '--model', config.model_path, '--host', '127.0.0.1', '--port',
            str(self._port), '--ctx-size', str(config.context_tokens), '--parallel', '1',
            '--threads', str(config.threads), '--batch-size', str(config.batch_tokens),
            '--n-gpu-layers', str(config.gpu_layers if config.gpu_layers >= 0 else 999)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + _READY_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise EdgeLlmError(f'{program} does not start; try it by hand.')
            time.sleep(0.2)

    def _ready(self) -> bool:
        try:
            connection = http.client.HTTPConnection('127.0.0.1', self._port, timeout=5)
            connection.request('GET', '/health')
            return connection.getresponse().status == 200
        except OSError:
            return False

    def begin(self, workload: Workload, script: Script, repeat: int) -> None:
        """Evaluate the prefix once, as its users do with a first request."""
        self._script = script
        for _ in self._events({'prompt': list(script.prefix(workload)), 'n_predict': 1}):
            pass

    def _events(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        body = json.dumps({'cache_prompt': True, 'temperature': 0, 'stream': True,
                           'id_slot': 0, **request})
        connection = http.client.HTTPConnection('127.0.0.1', self._port, timeout=600)
        connection.request('POST', '/completion', body, {'Content-Type': 'application/json'})
        for line in connection.getresponse():
            if line.startswith(b'data: '):
                yield json.loads(line[6:])
        connection.close()

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
        return peak_of_process(self._process.pid)

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
