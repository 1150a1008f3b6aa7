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

"""An engine of ours under a workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import time

from edge_llm_ros.bench.workload import filler, Turn, Workload
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import (
    Completion, EngineConfig, GenerateRequest, PrefillProgress, TokenKind)

_CALL_TOKENS = 96
_TOOLS = """start: {thinking} "{{\\"name\\": \\"" ( go | count | say ) "}}" <[{end}]>
go: "drive_to\\", \\"place\\": " %json {{"enum": ["kitchen", "office", "lab", "dock"]}}
count: "count\\", \\"number\\": " %json {{"type": "integer", "minimum": 0, "maximum": 99}}
say: "say\\", \\"text\\": " %json {{"type": "string", "maxLength": 20}}
"""


@dataclass(frozen=True)
class TurnResult:
    """
    What a turn cost.

    :param new: message tokens never evaluated before
    :param warm_up: prefix tokens that a restart evaluated again
    """

    turn: Turn
    new: int
    completion: Completion
    warm_up: int = 0

    @property
    def prefill(self) -> int:
        """Return the message tokens evaluated, a prefix that was evaluated again included."""
        return self.completion.prefill + self.warm_up


class EngineArm:
    """
    Runs workloads; the calls that it makes stay in the conversation as they were made.

    :param config: how the engine is loaded
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self.engine = LocalEngine(config)
        self._number = 0
        self._last_warm_up = PrefillProgress(0, 0)

    def warm_up(self, tokens: tuple[int, ...]) -> float:
        """Pin a prefix and return the seconds that it took."""
        start = time.monotonic()
        for progress in self.engine.warm_up(tokens):
            self._last_warm_up = progress
        return time.monotonic() - start

    def restart(self, prefix: tuple[int, ...]) -> float:
        """Start the engine anew and return the seconds until its prefix is there."""
        self.engine.close()
        self.engine = LocalEngine(self._config)
        return self.warm_up(prefix)

    def spill(self) -> None:
        """Make every idle session leave the KV cache."""
        while self.engine._cache.evict():
            pass

    @property
    def spilled_bytes(self) -> int:
        """Return the host memory that evicted sessions take."""
        return self.engine._cache.spilled_bytes

    def tokenize(self, text: str) -> tuple[int, ...]:
        """Return the tokens of plain text."""
        return self.engine.tokenize(text, False)

    def generate(self, session: str, tokens: tuple[int, ...], thinking: int = 0) -> Completion:
        """Generate one call."""
        self._number += 1
        request = GenerateRequest(f'bench {self._number}', session, tokens,
                                  self._grammar(thinking), _CALL_TOKENS + thinking)
        *_, end = self.engine.generate(request)
        assert isinstance(end, Completion)
        return end

    def _grammar(self, thinking: int) -> str:
        end = next(token.id for token in self.engine.info().special_tokens
                   if token.kind is TokenKind.END)
        lines = ['%llguidance {}', _TOOLS.format(end=end, thinking='thought' if thinking else '')]
        if thinking:
            lines.append(f'thought: "<think>" /[a-z ]{{1,{thinking}}}/ "</think>"')
        return '\n'.join(lines) + '\n'

    def run(self, workload: Workload) -> Iterator[TurnResult]:
        """Run a workload from a warm prefix on."""
        prefix = filler(self.tokenize, workload.prefix, 'prefix')
        self.warm_up(prefix)
        sessions: dict[str, tuple[int, ...]] = {}
        for number, turn in enumerate(workload.turns):
            warm_up = self._before(turn, prefix)
            message = filler(self.tokenize, turn.tokens, f'{turn.session} {number}')
            tokens = sessions.get(turn.session, prefix) + message
            completion = self.generate(turn.session, tokens, turn.thinking)
            sessions[turn.session] = tokens + completion.tokens
            yield TurnResult(turn, len(message), completion, warm_up)

    def _before(self, turn: Turn, prefix: tuple[int, ...]) -> int:
        """Do what comes before a turn; return the prefix tokens that it evaluated."""
        if turn.before == 'restart':
            self.restart(prefix)
            return 0 if self._last_warm_up.restored else len(prefix)
        if turn.before == 'spill':
            self.spill()
        return 0

    def close(self) -> None:
        """Free the engine."""
        self.engine.close()
