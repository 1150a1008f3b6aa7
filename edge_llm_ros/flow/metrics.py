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

"""What was measured, where it happened."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
import math


@dataclass(frozen=True)
class TokenCounts:
    """
    Tokens by where they come from; each is counted once.

    ``prompt`` and ``new`` count message tokens: what the model itself wrote is counted when it is
    generated, wherever it is evaluated.

    :param cached: message tokens found in the KV cache
    :param prefill: message tokens evaluated, again or for the first time
    :param new: message tokens never evaluated before: what an ideal cache would evaluate
    :param sampled: chosen from logits
    :param forced: the grammar allowed no other
    :param accepted_draft: guessed, and equal to the model's own choice
    :param draft: guessed and put into a batch
    :param text: generated tokens inside free text
    :param decode_calls: calls of llama_decode
    """

    cached: int = 0
    prefill: int = 0
    new: int = 0
    sampled: int = 0
    forced: int = 0
    accepted_draft: int = 0
    draft: int = 0
    text: int = 0
    decode_calls: int = 0

    @property
    def prompt(self) -> int:
        """Return the message tokens of the prompt."""
        return self.cached + self.prefill

    @property
    def generated(self) -> int:
        """Return the tokens of the model's calls, the frame excluded."""
        return self.sampled + self.forced + self.accepted_draft

    @property
    def cache_hit_rate(self) -> float:
        """Return the cached share of the prompt, 0 without a prompt."""
        return self.cached / self.prompt if self.prompt else 0.0

    def __add__(self, other: TokenCounts) -> TokenCounts:
        return TokenCounts(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True)
class Metrics:
    """
    What a step or a goal cost; times in seconds.

    :param first_token: goal accepted, or observation received, to the first token from logits
        (first step)
    :param worst_first_token: the same of the slowest step
    :param first_call: the same until the call is parsed (first step)
    :param decode: time after the first token until the call is parsed, all steps
    :param reuse_lost: why message tokens were evaluated again; empty where they were not
    :param peak_memory_bytes: of the node and its engine's process together; 0 where unknown
    :param energy_joule: NaN where the board cannot measure it
    """

    steps: int = 0
    tokens: TokenCounts = TokenCounts()
    first_token: float = 0.0
    worst_first_token: float = 0.0
    first_call: float = 0.0
    decode: float = 0.0
    inference: float = 0.0
    tool: float = 0.0
    wall: float = 0.0
    reuse_lost: str = ''
    peak_memory_bytes: int = 0
    energy_joule: float = math.nan

    @property
    def decode_tokens_per_second(self) -> float:
        """Return the generated tokens after each step's first, over the time they took."""
        tokens = self.tokens.generated - self.steps
        return tokens / self.decode if self.decode > 0 and tokens > 0 else 0.0

    def and_again(self, more: Metrics) -> Metrics:
        """Return the metrics of a step whose call was made twice; these are of the first time."""
        if not self.steps:
            return more
        return replace(
            self, tokens=self.tokens + more.tokens,
            worst_first_token=max(self.worst_first_token, more.worst_first_token),
            decode=self.decode + more.decode, inference=self.inference + more.inference,
            wall=self.wall + more.wall, reuse_lost=more.reuse_lost or self.reuse_lost)

    def plus_step(self, step: Metrics) -> Metrics:
        """Return the metrics of a goal after one more step; ``wall`` stays the caller's."""
        first = self.steps == 0
        return replace(
            self,
            steps=self.steps + step.steps,
            tokens=self.tokens + step.tokens,
            first_token=step.first_token if first else self.first_token,
            worst_first_token=max(self.worst_first_token, step.worst_first_token),
            first_call=step.first_call if first else self.first_call,
            decode=self.decode + step.decode,
            inference=self.inference + step.inference,
            tool=self.tool + step.tool,
            reuse_lost=step.reuse_lost or self.reuse_lost)
