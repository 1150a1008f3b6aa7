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

"""How much a log of prompts repeats, and so what reuse would save."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Annotated, Any

from edge_llm_ros.engine.prefix_index import PrefixIndex
from edge_llm_ros.flow.errors import ConfigError
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator, ValidationError

Tokenize = Callable[[str], tuple[int, ...]]


class _Entry(BaseModel):
    """A line of a log."""

    model_config = ConfigDict(strict=True)

    prompt: str | None = None
    tokens: list[Annotated[int, Field(ge=0, lt=1 << 31)]] | None = None
    messages: list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] = Field(default_factory=list)

    @model_validator(mode='after')
    def _has_one(self) -> _Entry:
        if (self.prompt, self.tokens, self.messages).count(None) != 2:
            raise ValueError('one of prompt, tokens and messages is needed')
        return self

    def ids(self, tokenize: Tokenize) -> Sequence[int]:
        """Return the prompt's tokens."""
        if self.tokens is not None:
            return self.tokens
        if self.prompt is not None:
            return tokenize(self.prompt)
        # Tools stand before the messages in what chat templates make of them.
        parts = [self.tools, *(self.messages or ())]
        return tokenize('\n'.join(json.dumps(part, ensure_ascii=False) for part in parts))


@dataclass(frozen=True)
class LoggedPrompt:
    """
    A prompt of a log.

    :param tokens: in all
    :param repeated: first tokens that an earlier prompt began with
    """

    tokens: int
    repeated: int


def read_log(path: str, tokenize: Tokenize) -> Iterator[LoggedPrompt]:
    """
    Compare each prompt of a log with all before it.

    A line is a JSON object with ``prompt`` (text), ``tokens`` (ids) or ``messages`` (as chat
    programs send them, with ``tools`` where there are any).

    :raises ConfigError: naming the line that is none of these
    """
    index = PrefixIndex()
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise ConfigError(f'{path}: {error}') from None
    for number, line in enumerate(filter(str.strip, lines)):
        try:
            entry = _Entry.model_validate_json(line)
        except ValidationError as error:
            raise ConfigError(
                f'{path}, prompt {number + 1}: {error.errors()[0]["msg"]}; each line must be a '
                'JSON object with "prompt", "tokens" or "messages".') from None
        tokens = np.asarray(entry.ids(tokenize), np.int32)
        _, repeated = next(index.candidates(tokens), (0, 0))
        # The last token of a prompt is always evaluated: its logits begin the answer.
        yield LoggedPrompt(len(tokens), min(repeated, max(0, len(tokens) - 1)))
        index.put(number, tokens)
