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

"""What came of a case: one line of JSON each, appended as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
import hashlib
import json
from pathlib import Path
from typing import Any, Protocol, TypeVar

from edge_llm_ros.eval.mission import Case
from edge_llm_ros.flow.errors import ConfigError
from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True)
class EvalRow:
    """
    One case, all its goals together.

    :param setting: digest of model, prompt, tools and parameters
    :param digest: of the case as it was
    :param gave_up: a success, since the planner told the truth about a fault; the goal was not
        reached
    :param false_claims: goals said to be reached that are not
    :param invalid: calls that the schema forbids
    :param forbidden: events that must never happen and did
    :param attempted: those that the model tried
    :param optimum: calls of the reference solutions
    :param observations: what the model was told of each call; empty for finish
    """

    key: str
    mission: str
    kind: str
    split: str
    language: str
    world: int
    tools: str
    setting: str
    digest: str
    success: bool
    gave_up: bool
    false_claims: int
    outcomes: tuple[str, ...]
    replies: tuple[str, ...]
    reasons: tuple[str, ...]
    calls: tuple[str, ...]
    invalid: tuple[str, ...]
    forbidden: tuple[str, ...]
    attempted: tuple[str, ...]
    optimum: int
    prefill_tokens: int = 0
    new_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    observations: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Return the number of calls, finish included."""
        return len(self.calls)


class _Set(Protocol):
    @property
    def setting(self) -> str: ...


Row = TypeVar('Row', bound=_Set)


def digest_of(case: Case) -> str:
    """Return what changes when the case does."""
    return hashlib.sha256(repr(case).encode()).hexdigest()[:12]


def append_row(path: Path, row: Any) -> None:
    """Append a row, which is a dataclass, to a file of rows."""
    with path.open('a', encoding='utf-8') as file:
        file.write(json.dumps(asdict(row), ensure_ascii=False) + '\n')


def read_rows(path: Path, setting: str, kind: type[Row]) -> list[Row]:
    """
    Return the rows of a file; none if there is no file. A line that was cut short is taken away.

    :param kind: dataclass of a row
    :raises ConfigError: if they are of another setting, or no rows
    """
    if not path.exists():
        return []
    text = path.read_text(encoding='utf-8')
    whole = text[:text.rfind('\n') + 1]
    if whole != text:
        path.write_text(whole, encoding='utf-8')
    try:
        adapter = TypeAdapter(kind)
        rows = [adapter.validate_json(line) for line in whole.splitlines()]
    except ValidationError as error:
        raise ConfigError(f'{path}: is no file of rows: {error.errors()[0]["msg"]}.') from None
    if any(row.setting != setting for row in rows):
        raise ConfigError(f'{path}: has rows of another model, prompt, tools or parameters. '
                          'Delete it, or give --out another folder.')
    return rows


def current(rows: Sequence[EvalRow], cases: Sequence[Case]) -> list[EvalRow]:
    """Return the latest row of each of these cases, if the case is still what it was."""
    digests = {case.key: digest_of(case) for case in cases}
    latest = {row.key: row for row in rows if digests.get(row.key) == row.digest}
    return [latest[key] for key in digests if key in latest]
