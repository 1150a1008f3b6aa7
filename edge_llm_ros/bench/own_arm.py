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

from typing import Any

from edge_llm_ros.bench.arm import StepResult
from edge_llm_ros.bench.script import Script, ScriptStep
from edge_llm_ros.bench.workload import Workload
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import (
    ACCEPTED, Completion, EngineConfig, FORCED, GenerateRequest, SAMPLED)

_CALL_TOKENS = 128


class OwnArm:
    """
    The engine in this process.

    :param name: of the arm
    :param config: what is switched on
    :param synthetic: the model's weights are random: choices are computed and the file's are taken
    """

    def __init__(self, name: str, config: EngineConfig, synthetic: bool) -> None:
        self.name = name
        self.engine = LocalEngine(config)
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
        *_, end = self.engine.generate(request)
        assert isinstance(end, Completion)
        return StepResult(
            end.first_token, end.seconds,
            self.engine.detokenize(end.tokens).decode('utf-8', 'replace'), _counts(end))

    def facts(self) -> dict[str, Any]:
        """Return the model and the memory that it takes."""
        info, costs = self.engine.info(), self.engine.batch_costs()
        return {'batch_seconds': {str(size): seconds for size, seconds in costs.items()},
                'model': info.description, 'weights_bytes': info.size_bytes,
                'kv_bytes': info.kv_bytes, 'gpu_layers': info.gpu_layers,
                'threads': info.threads}

    def close(self) -> None:
        """Free the engine."""
        self.engine.close()


def _counts(end: Completion) -> dict[str, int]:
    return {'cached_tokens': end.cached, 'prefill_tokens': end.prefill,
            'sampled_tokens': end.origins.count(SAMPLED),
            'forced_tokens': end.origins.count(FORCED),
            'accepted_draft_tokens': end.origins.count(ACCEPTED),
            'draft_tokens': end.guessed, 'decode_calls': end.decode_calls}
