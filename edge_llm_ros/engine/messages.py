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

"""What the planner's process and the engine's process say to each other, beside flow/engine.py."""

from __future__ import annotations

from dataclasses import dataclass

from edge_llm_ros.flow.engine import EngineConfig, ModelInfo

# To the engine


@dataclass(frozen=True)
class Load:
    """
    Load the model; answered by Loading, then Loaded or Failed.

    :param log_level: of the records that are passed on
    :param vocabulary_first: whether texts shall be tokenised while the model still loads
    """

    config: EngineConfig
    log_level: int
    vocabulary_first: bool


@dataclass(frozen=True)
class WarmUp:
    """Evaluate the prefix; answered by PrefillProgress, then Done or Failed."""

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Cancel:
    """End a request; not answered."""

    request_id: str


@dataclass(frozen=True)
class Pin:
    """Say whether a goal of a session is running; not answered."""

    session: str
    pinned: bool


@dataclass(frozen=True)
class Release:
    """Forget a session; not answered."""

    session: str


@dataclass(frozen=True)
class Tokenize:
    """Answered by Tokens."""

    text: str
    special: bool


@dataclass(frozen=True)
class Detokenize:
    """Answered by Pieces."""

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class CheckGrammar:
    """Answered by Done or Failed."""

    grammar: str


@dataclass(frozen=True)
class MeasuredBatches:
    """Answered by Costs."""


@dataclass(frozen=True)
class CheckIntegrity:
    """Answered by Done or Failed."""


@dataclass(frozen=True)
class Close:
    """End what runs, then the process; its end is the answer."""


# From the engine


@dataclass(frozen=True)
class Loading:
    """A sign of life while the model loads; ``share`` of its file is there."""

    share: float


@dataclass(frozen=True)
class Loaded:
    """The model is ready."""

    info: ModelInfo


@dataclass(frozen=True)
class Tokens:
    """Those of a text."""

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Pieces:
    """The bytes of tokens, one after the other."""

    sizes: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class Costs:
    """Seconds of a batch by its tokens."""

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Done:
    """It was done."""


@dataclass(frozen=True)
class Failed:
    """
    It could not be done.

    :param error: name of the exception
    """

    error: str
    reason: str


@dataclass(frozen=True)
class LogLine:
    """A record of the engine's log."""

    level: int
    logger: str
    text: str
