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

"""What is measured: sessions whose turns bring a given number of new tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import random
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
import yaml

_TOOLS_CONTEXT = 512
_FOLDER = Path(__file__).resolve().parent / 'workloads'
WORDS = ('arm', 'battery', 'corridor', 'door', 'east', 'floor', 'gripper', 'hall', 'item',
         'joint', 'kilo', 'laser', 'map', 'north', 'odometry', 'path', 'quiet', 'robot',
         'station', 'table', 'unit', 'valve', 'wheel', 'yard', 'zone')


class Turn(BaseModel):
    """
    One call of a session.

    :param session: that it belongs to
    :param tokens: new message tokens; fewer than the text has means just the text
    :param text: the end of the message
    :param call: the tool that is then called; without one, the workload is only counted
    :param thinking: characters that the model writes before the call; a template would drop them
        from history
    :param before: what happens before: the engine starts anew, or a session is spilled
    """

    model_config = ConfigDict(extra='forbid', frozen=True)

    session: str = 'a'
    tokens: int = Field(ge=1)
    text: str = ''
    call: str = ''
    arguments: dict[str, Any] = Field(default_factory=dict)
    thinking: int = Field(default=0, ge=0)
    before: Literal['', 'restart', 'spill'] = ''


class Workload(BaseModel):
    """
    A workload.

    :param prefix: tokens of the pinned prefix
    :param context: tokens of the context
    """

    model_config = ConfigDict(extra='forbid', frozen=True)

    name: str
    description: str
    prefix: int = Field(ge=1)
    context: int = Field(ge=256)
    turns: tuple[Turn, ...] = Field(min_length=1)

    @property
    def scripted(self) -> bool:
        """Say whether the file has the calls, so that every arm can do the same."""
        return all(turn.call for turn in self.turns)

    def scaled(self, scale: float) -> Workload:
        """Return the workload with shorter texts."""
        def size(tokens: int) -> int:
            return max(8, round(tokens * scale)) if tokens > 1 else tokens

        return self.model_copy(update={
            # Calls do not become shorter, nor the tools in the prefix.
            'prefix': size(self.prefix),
            'context': size(self.context) + 128 * len(self.turns) + _TOOLS_CONTEXT,
            'turns': tuple(t.model_copy(update={'tokens': size(t.tokens)}) for t in self.turns)})


def workloads() -> Iterator[Workload]:
    """Yield the workloads of the data files, by name."""
    for path in sorted(_FOLDER.glob('*.yaml')):
        data = yaml.safe_load(path.read_text())
        yield Workload(name=path.stem, **data)


def filler(tokenize: Callable[[str], tuple[int, ...]], count: int, seed: str) -> tuple[int, ...]:
    """Return so many tokens of plain words, the same for a seed and different for others."""
    generator = random.Random(seed)
    tokens: tuple[int, ...] = ()
    while len(tokens) < count:
        tokens += tokenize(' ' + ' '.join(generator.choices(WORDS, k=count)))
    return tokens[:count]
