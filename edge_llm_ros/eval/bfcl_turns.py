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

"""Reads the multi-turn items of BFCL in which a vehicle is controlled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edge_llm_ros.eval.bfcl import (
    BfclFunction, BfclItem, CATEGORIES, lines_of, read_items, tool_of)
from edge_llm_ros.eval.bfcl_world import BfclWorld, MODULES, read_python_call
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolSchema
from pydantic import BaseModel, ConfigDict, Field

MULTI_TURN = 'multi_turn_base'
_VEHICLE = 'VehicleControlAPI'


class _Item(BaseModel):
    model_config = ConfigDict(extra='ignore', frozen=True)

    id: str
    question: list[list[dict[str, str]]] = Field(min_length=1)
    initial_config: dict[str, Any]
    involved_classes: list[str] = Field(min_length=1)


class _Answer(BaseModel):
    model_config = ConfigDict(extra='ignore', frozen=True)

    id: str
    ground_truth: list[list[str]]


@dataclass(frozen=True)
class BfclTurns:
    """
    A conversation of several turns.

    :param texts: what the person says in each turn
    :param truth: calls that are due in each turn, as Python
    :param source: folder of the package that has the classes
    :param classes: whose methods are the functions
    :param config: what the objects of these classes begin with, by class
    """

    id: str
    texts: tuple[str, ...]
    truth: tuple[tuple[str, ...], ...]
    source: Path
    classes: tuple[str, ...]
    config: Mapping[str, Any]
    functions: Mapping[str, Mapping[str, Any]]
    category: str = MULTI_TURN

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the functions as tools."""
        return tuple(tool_of(name, function) for name, function in self.functions.items())

    def world(self) -> BfclWorld:
        """Return the objects that the functions act on, as they are at the start."""
        return BfclWorld(self.source, self.classes, self.config)


def read_turns(folder: Path) -> Iterator[BfclTurns]:
    """
    Read the multi-turn items of a folder that are about a vehicle; there may be none.

    :param folder: ``data`` of the leaderboard's package, beside which its classes are
    :raises ConfigError: if something of it is missing or cannot be read
    """
    for path in sorted(folder.glob(f'BFCL_v*_{MULTI_TURN}.json')):
        answers = {answer.id: answer for answer in lines_of(
            folder / 'possible_answer' / path.name, _Answer)}
        for item in lines_of(path, _Item):
            if _VEHICLE not in item.involved_classes:
                continue
            truth = answers[item.id].ground_truth if item.id in answers else []
            if len(truth) != len(item.question):
                raise ConfigError(f'{path}: {item.id} has no possible answer for each turn.')
            _check_truth(path, item.id, truth)
            yield BfclTurns(
                item.id, tuple('\n'.join(m['content'] for m in turn) for turn in item.question),
                tuple(map(tuple, truth)), folder.resolve().parent, tuple(item.involved_classes),
                item.initial_config, _functions(folder, item.involved_classes))


def _check_truth(path: Path, name: str, truth: Sequence[Sequence[str]]) -> None:
    for text in (text for turn in truth for text in turn):
        try:
            read_python_call(text)
        except ConfigError as error:
            raise ConfigError(f'{path}: {name}: {error}') from None


def read_bfcl(folder: Path) -> list[BfclItem | BfclTurns]:
    """
    Read all items of a folder.

    :raises ConfigError: if there are none, or a file cannot be read
    """
    items: list[BfclItem | BfclTurns] = list(read_items(folder))
    for turns in read_turns(folder):
        turns.world()  # what it needs is missing now, not in the middle of a run
        items.append(turns)
    if not items:
        raise ConfigError(f'{folder}: there is no file like BFCL_v4_simple_python.json; '
                          f'categories: {", ".join((*CATEGORIES, MULTI_TURN))}.')
    return items


def _functions(folder: Path, classes: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for name in classes:
        if name not in MODULES:
            raise ConfigError(f'{folder}: there is nothing known of the class {name!r}; known: '
                              f'{", ".join(MODULES)}.')
        file = folder / 'multi_turn_func_doc' / f'{MODULES[name]}.json'
        found.update((f.name, f.model_dump()) for f in lines_of(file, BfclFunction))
    return found
