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

"""This package's engine as an arm, whole or with parts switched off."""

from __future__ import annotations

import time
from typing import Any

from edge_llm_ros.bench.arm import StepResult
from edge_llm_ros.bench.script import Script, ScriptStep
from edge_llm_ros.bench.workload import Workload
from edge_llm_ros.engine.host import HostEngine
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import (
    ACCEPTED, Completion, EngineConfig, FORCED, GenerateRequest, SAMPLED, TokensProgress)
from edge_llm_ros.platform.memory import peak_of_process

_CALL_TOKENS = 128


class OwnArm:
    """
    The engine.

    :param name: of the arm
    :param config: what is switched on
    :param synthetic: the model's weights are random: choices are computed and the file's are taken
    :param in_process: whether it runs in this process; else in one of its own
    """

    def __init__(self, name: str, config: EngineConfig, synthetic: bool, in_process: bool = False
                 ) -> None:
        self.name = name
        self.engine: LocalEngine | HostEngine = (LocalEngine if in_process else HostEngine)(config)
        self._synthetic = synthetic
        self._prefix: tuple[int, ...] = ()
        self._number = 0

    def begin(self, workload: Workload, script: Script, repeat: int) -> None:
        """Pin the workload's prefix."""
        self._script = script
        prefix = script.prefix(workload)
        if prefix != self._prefix:
            for _ in self.engine.warm_up(prefix):
                pass
            self._prefix = prefix
        self.engine.check_grammar(script.grammar)
        for session in {turn.session for turn in workload.turns}:
            self.engine.release(f'{session} {repeat - 1}')

    def run(self, step: ScriptStep) -> StepResult:
        """Make one call."""
        self._number += 1
        request = GenerateRequest(
            f'{self.name} {self._number}', step.session, step.tokens, self._script.grammar,
            _CALL_TOKENS, script=step.call_tokens if self._synthetic else ())
        # As its caller sees it: what the way to another process costs is counted.
        start, first, end = time.monotonic(), 0.0, None
        for event in self.engine.generate(request):
            if isinstance(event, TokensProgress):
                first = first or time.monotonic() - start
            elif isinstance(event, Completion):
                end = event
        assert end is not None
        seconds = time.monotonic() - start
        return StepResult(
            first or seconds, seconds,
            self.engine.detokenize(end.tokens).decode('utf-8', 'replace'), _counts(end))

    def facts(self) -> dict[str, Any]:
        """Return the model and the memory that it takes."""
        info, costs = self.engine.info(), self.engine.batch_costs()
        return {'batch_seconds': {str(size): seconds for size, seconds in costs.items()},
                'model': info.description, 'weights_bytes': info.size_bytes,
                'kv_bytes': info.kv_bytes, 'gpu_layers': info.gpu_layers,
                'threads': info.threads}

    def peak_memory_bytes(self) -> int:
        """
        Return what the engine takes; 0 where it cannot be told from what this process takes.

        On a GPU, what llama.cpp allocated for weights and cells; else its process at its largest.
        """
        info = self.engine.info()
        if info.gpu_layers:
            return info.size_bytes + info.kv_bytes
        return peak_of_process(self.engine.state.pid) if isinstance(
            self.engine, HostEngine) else 0

    def close(self) -> None:
        """Free the engine."""
        self.engine.close()


def _counts(end: Completion) -> dict[str, int]:
    return {'prompt_tokens': end.cached + end.prefill, 'cached_tokens': end.cached,
            'prefill_tokens': end.prefill,
            'sampled_tokens': end.origins.count(SAMPLED),
            'forced_tokens': end.origins.count(FORCED),
            'accepted_draft_tokens': end.origins.count(ACCEPTED),
            'draft_tokens': end.guessed, 'decode_calls': end.decode_calls}
