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

"""
The engine's interface: tokens in, tokens out.

Everything here is made of ints, floats, strings and frozen dataclasses of them, so that an engine
can live in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
import enum
from typing import Protocol


CACHE_TYPES = ('f16', 'q8_0', 'q4_0')  # of KV cells, where keys and values are of one type


@dataclass(frozen=True)
class EngineConfig:
    """
    How a model is loaded.

    :param model_path: a GGUF file
    :param context_tokens: KV cells for all sessions together
    :param max_sessions: sessions kept in the KV cache beside the prefix
    :param batch_tokens: tokens of one llama_decode at most
    :param chunk_seconds: a prefill chunk adapts to take about this long; four times as long where
        only the CPU evaluates, which can be aborted at any time
    :param threads: for decode; 0 leaves cores to the robot by itself
    :param batch_threads: for prefill; 0 for the same as threads
    :param cpu_affinity: cores of the threads that evaluate, as in 0-3,6; empty for all
    :param niceness: of these threads, 0 to 19; more gives way more
    :param gpu_layers: layers put on the GPU; -1 for all
    :param cache_type_k: of the keys in the KV cache: f16, q8_0 or q4_0
    :param cache_type_v: of the values; the same
    :param flash_attention: auto, on or off
    :param swa_full: whether a model with a sliding window gets as many cells for its window layers
        as for the others
    :param rope_freq_base: 0 for that of the model
    :param rope_freq_scale: 0 for that of the model
    :param session_ttl: seconds after which the cells of an idle session are freed; 0 for never
    :param spill_bytes: host memory for evicted sessions; 0 for none
    :param force: False samples what the grammar forces, too: the baseline of benchmarks
    :param guess: whether tokens are guessed and verified in the batch that is due anyway
    :param draft_model_path: a smaller GGUF file with the same vocabulary, which guesses free text;
        empty for none
    :param reuse: False evaluates everything at every request: the baseline of benchmarks
    :param prefix_folder: keeps evaluated prefixes across restarts; empty for none
    :param prefix_bytes: of that folder at most
    """

    model_path: str
    context_tokens: int = 8192
    max_sessions: int = 8
    batch_tokens: int = 512
    chunk_seconds: float = 0.2
    threads: int = 0
    batch_threads: int = 0
    cpu_affinity: str = ''
    niceness: int = 0
    gpu_layers: int = -1
    cache_type_k: str = 'f16'
    cache_type_v: str = 'f16'
    flash_attention: str = 'auto'
    swa_full: bool = True
    rope_freq_base: float = 0.0
    rope_freq_scale: float = 0.0
    session_ttl: float = 0.0
    spill_bytes: int = 0
    force: bool = True
    guess: bool = True
    draft_model_path: str = ''
    reuse: bool = True
    prefix_folder: str = ''
    prefix_bytes: int = 2 << 30


class MemoryKind(enum.IntEnum):
    """
    How a model's memory can be cut back.

    FULL anywhere; WINDOW as long as the window before the cut is still there; the others only to
    where a snapshot was kept.
    """

    FULL = 1
    WINDOW = 2
    RECURRENT = 3
    HYBRID = 4


class TokenKind(enum.IntEnum):
    """Why a token is not plain text."""

    CONTROL = 1
    USER_DEFINED = 2
    END = 3


@dataclass(frozen=True)
class SpecialToken:
    """A token that must never come out of data; END for every end-of-generation id."""

    id: int
    text: str
    kind: TokenKind


@dataclass(frozen=True)
class ModelInfo:
    """
    What a loaded model says of itself, and what its context is.

    :param kv_bytes_per_token: what a token takes in the KV cache
    :param state_bytes: what a sequence takes beside its tokens: the state of recurrent layers
    :param kv_bytes: of all KV cells and states, as llama.cpp allocated them
    :param window: tokens of the sliding window; 0 where there is none
    :param gpu: whether llama.cpp could put layers on a GPU here
    """

    path: str
    name: str
    architecture: str
    description: str
    size_bytes: int
    context_tokens: int
    trained_context_tokens: int
    vocabulary: int
    add_bos: bool
    bos_text: str
    eos_text: str
    chat_template: str
    special_tokens: tuple[SpecialToken, ...] = field(repr=False)
    layers: int = 0
    gpu_layers: int = 0
    kv_bytes_per_token: int = 0
    state_bytes: int = 0
    kv_bytes: int = 0
    memory: MemoryKind = MemoryKind.FULL
    window: int = 0
    threads: int = 1
    gpu: bool = False


@dataclass(frozen=True)
class BackendInfo:
    """
    What llama.cpp was built with.

    :param gpu: whether it can put layers on a GPU at all
    """

    version: str
    gpu: bool
    system: str


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen; temperature 0 is greedy; top_k 0, top_p 1 and min_p 0 are off."""

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    seed: int = 0


@dataclass(frozen=True)
class GenerateRequest:
    """
    A request for one call.

    :param id: names the request for cancel()
    :param session: names the sequence that holds this conversation
    :param tokens: the whole conversation, from the prefix on
    :param grammar: a Lark grammar of llguidance, from the first generated token to the end of turn
    :param max_tokens: generated tokens at most
    :param script: for benchmarks: every choice is computed, and then this is taken; empty for none
    :param biased: tokens; where all of them may come next for the first time, ``bias`` is added to
        their logits and the best is taken, whatever the temperature
    :param bias: as many numbers
    """

    id: str
    session: str
    tokens: tuple[int, ...]
    grammar: str
    max_tokens: int
    sampling: Sampling = Sampling()
    script: tuple[int, ...] = ()
    biased: tuple[int, ...] = ()
    bias: tuple[float, ...] = ()


@dataclass(frozen=True)
class PrefillProgress:
    """A chunk of the prompt was evaluated, or all of it came from disk."""

    evaluated: int
    total: int
    restored: bool = False


@dataclass(frozen=True)
class TokensProgress:
    """Tokens were chosen or forced since the last event."""

    tokens: tuple[int, ...]


class Stop(enum.IntEnum):
    """Why a generation ended."""

    COMPLETE = 1
    LENGTH = 2
    CANCELED = 3


SAMPLED, FORCED, ACCEPTED = 'S', 'F', 'A'


@dataclass(frozen=True)
class Completion:
    """
    The end of a generation.

    :param tokens: all that was generated, frame included
    :param origins: a letter for each token: sampled (S), forced (F) or a guess that was right (A)
    :param cached: message tokens found in the KV cache
    :param prefill: message tokens evaluated
    :param lost: why more was evaluated than an ideal cache would; empty where it was not
    :param first_token: seconds to the first token chosen from logits; to the end where none was
    :param guessed: tokens that were guessed and put into a batch
    :param seconds: from the request to the last token
    """

    stop: Stop
    tokens: tuple[int, ...]
    origins: str
    cached: int
    prefill: int
    decode_calls: int
    first_token: float
    seconds: float
    lost: str = ''
    guessed: int = 0


class Tokenizer(Protocol):
    """Text to tokens and back."""

    def tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        """Return the tokens of a text; role tokens are recognised only if ``special``."""

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens, special ones as their text."""


class Engine(Tokenizer, Protocol):
    """
    A loaded model with its KV cache.

    One request runs at a time. cancel() may come from any thread.
    """

    def info(self) -> ModelInfo:
        """Return what the model says of itself."""

    def warm_up(self, tokens: Sequence[int]) -> Iterator[PrefillProgress]:
        """
        Evaluate the prefix and pin it.

        :raises EngineError: if it does not fit, was canceled, or cannot be evaluated
        """

    def check_grammar(self, grammar: str) -> None:
        """
        Compile a grammar and keep it.

        :raises EngineError: with llguidance's words if it is not valid
        """

    def generate(self, request: GenerateRequest
                 ) -> Iterator[PrefillProgress | TokensProgress | Completion]:
        """
        Generate one call; the last event is the Completion.

        :raises ContextFull: if the tokens do not fit
        :raises EngineError: if the model cannot be evaluated
        """

    def cancel(self, request_id: str) -> None:
        """End a request within one chunk or token; an id that is not running is remembered."""

    def pin(self, session: str, pinned: bool) -> None:
        """Say whether a goal of this session is running: what is pinned is never evicted."""

    def batch_costs(self) -> Mapping[int, float]:
        """Return the seconds of a batch by its tokens; empty where they were not measured."""

    def release(self, session: str) -> None:
        """Forget a session."""

    def on_end(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """
        Have a callback told why the engine ended by itself, request or not, from any thread.

        :returns: a function that withdraws the callback
        """

    def close(self) -> None:
        """Free the model and its memory."""
