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

"""A llama-server on this machine's loopback, for as long as it is measured."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from typing import Any

from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EdgeLlmError

_READY_SECONDS = 180.0
_ANSWER_SECONDS = 600.0


def server_path() -> str | None:
    """Return the program, from LLAMA_SERVER or the path; None where there is none."""
    return os.environ.get('LLAMA_SERVER') or shutil.which('llama-server')


class ServerProcess:
    """
    One server.

    :param config: of the engine that it is measured beside
    :param options: more of its command line; an empty value for a switch
    :raises EdgeLlmError: if the program is missing or does not start
    """

    def __init__(self, config: EngineConfig, options: Mapping[str, str] | None = None) -> None:
        program = server_path()
        if program is None:
            raise EdgeLlmError('llama-server is missing: call make bench-peers, or give its path '
                               'in LLAMA_SERVER.')
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self._port = probe.getsockname()[1]
        more = [part for pair in (options or {}).items() for part in pair if part]
        self._process = subprocess.Popen([
            program, '--model', config.model_path, '--host', '127.0.0.1', '--port',
            str(self._port), '--ctx-size', str(config.context_tokens), '--parallel', '1',
            '--threads', str(config.threads), '--batch-size', str(config.batch_tokens),
            '--n-gpu-layers', str(config.gpu_layers if config.gpu_layers >= 0 else 999), *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Whoever starts it may end without a word: a process of a pool, say.
        atexit.register(self.close)
        deadline = time.monotonic() + _READY_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise EdgeLlmError(f'{program} does not start; try it by hand.')
            time.sleep(0.2)

    @property
    def pid(self) -> int:
        """Return the id of its process."""
        return self._process.pid

    def _ready(self) -> bool:
        try:
            connection = http.client.HTTPConnection('127.0.0.1', self._port, timeout=5)
            connection.request('GET', '/health')
            return connection.getresponse().status == 200
        except OSError:
            return False

    def post(self, path: str, request: Mapping[str, Any]) -> http.client.HTTPResponse:
        """Send a request and return the response, of which nothing is read yet."""
        connection = http.client.HTTPConnection('127.0.0.1', self._port, timeout=_ANSWER_SECONDS)
        connection.request('POST', path, json.dumps(request), {'Content-Type': 'application/json'})
        return connection.getresponse()

    def close(self) -> None:
        """End the server."""
        atexit.unregister(self.close)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
