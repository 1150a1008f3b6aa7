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

"""llama-cpp-python's own Llama class, with its grammar and its RAM cache."""

from __future__ import annotations

import json
import time
from typing import Any

from edge_llm_ros.bench.arm import StepResult
from edge_llm_ros.bench.script import Script, ScriptStep
from edge_llm_ros.bench.workload import Workload
from edge_llm_ros.flow.engine import EngineConfig
from llama_cpp.llama import Llama
from llama_cpp.llama_cache import LlamaRAMCache
from llama_cpp.llama_grammar import LlamaGrammar

_CALL_TOKENS = 128
_CACHE_BYTES = 4 << 30


class _Cache(LlamaRAMCache):
    """The peer's cache, which does not count the logits that each of its states holds."""

    @property
    def cache_size(self) -> int:
        """Return all bytes of its states."""
        return sum(int(state.llama_state_size) + int(state.scores.nbytes)
                   for state in self.cache_state.values())


class LlamaCppPythonArm:
    """
    One Llama.

    :param config: of the engine that it is measured beside
    """

    name = 'llama_cpp_python'

    def __init__(self, config: EngineConfig) -> None:
        self._llama = Llama(
            config.model_path, n_ctx=config.context_tokens, n_batch=config.batch_tokens,
            n_threads=config.threads, n_threads_batch=config.batch_threads or config.threads,
            n_gpu_layers=config.gpu_layers, verbose=False)
        self._llama.set_cache(_Cache(_CACHE_BYTES))

    def begin(self, workload: Workload, script: Script, repeat: int) -> None:
        """Evaluate the prefix once, as its users do with a first request."""
        self._script = script
        self._grammar = LlamaGrammar.from_json_schema(
            json.dumps(script.json_schema()), verbose=False)
        self._complete(list(script.prefix(workload)), 1)

    def _complete(self, tokens: list[int], max_tokens: int) -> tuple[float, float, str]:
        start = time.monotonic()
        first, parts = 0.0, []
        chunks: Any = self._llama.create_completion(
            tokens, max_tokens=max_tokens, temperature=0.0, grammar=self._grammar, stream=True)
        for chunk in chunks:
            first = first or time.monotonic() - start
            parts.append(chunk['choices'][0]['text'])
        return first, time.monotonic() - start, ''.join(parts)

    def run(self, step: ScriptStep) -> StepResult:
        """Make one call."""
        start = self._script.json_start
        first, seconds, text = self._complete([*step.tokens, *start], _CALL_TOKENS)
        return StepResult(first, seconds, text)

    def facts(self) -> dict[str, Any]:
        """Return nothing more than what the report has."""
        return {}

    def peak_memory_bytes(self) -> int:
        """Return 0: it lives in this process, beside others."""
        return 0

    def close(self) -> None:
        """Free the model."""
        self._llama.close()
