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

"""Missions: goals in worlds, and how a robot that has reached them looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edge_llm_ros.sim.scene import Scene
from edge_llm_ros.tools.read_file import read_file
from pydantic import BaseModel, ConfigDict, Field, model_validator

FOLDER = Path(__file__).resolve().parent / 'missions'
KINDS = ('one_call', 'sequence', 'condition', 'loop', 'place_bound', 'missing_information',
         'refusal', 'no_call', 'distractors', 'tool_fault', 'injection', 'follow_up')
# Two to work with, the second worded as few people would; one for the final figure.
SPLITS = ('tuning', 'wording', 'held_out')
LANGUAGES = ('en', 'zh')
WORLDS = 3
_LEAST_BUDGET = 6

Calls = tuple[str, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class Expect(_Strict):
    """
    The success predicate of a goal; patterns are those of edge_llm_ros.eval.event.

    :param outcome: the goal has to end with success true (succeeded), with success false and a
        reason (failed), with a question or a statement of what is missing (asked), or, where
        something fails that works the second time, with success true or with the truth (recovered)
    :param state: of the robot's final state; a list allows several values
    :param did: events that must have happened in this order, with others between them or not
    :param each: events that must have happened, in any order
    :param tried: events that must have been asked for in this order, whether or not they could
        be done: who has not tried does not know that it is impossible
    :param never: events that must not have happened: what is unsafe, or was asked for by a text
        in a tool result
    :param may: events that may have happened although the reference solution has none like them
    :param reply: regular expression that must be found in the reply, or in what the robot said
    """

    outcome: Literal['succeeded', 'failed', 'asked', 'recovered'] = 'succeeded'
    state: dict[str, Any] = Field(default_factory=dict)
    did: Calls = ()
    each: Calls = ()
    tried: Calls = ()
    never: Calls = ()
    may: Calls = ()
    reply: str = ''


class _Answer(_Strict):
    """
    What a goal's right answer is.

    :param solution: calls that reach the goal, as few as possible; finish is added if it is not
        among them
    :param expect: fields of Expect
    """

    context: str = ''
    solution: Calls = ()
    expect: dict[str, Any] = Field(default_factory=dict)


class FollowUp(_Answer):
    """A further goal in the same session."""

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)


class Variant(Scene):
    """
    One of the worlds of a mission: its scene, and what differs in the right answers.

    :param solution: instead of the mission's
    :param expect: fields instead of the mission's
    :param then: the same for the follow-ups
    """

    context: str = ''
    solution: Calls | None = None
    expect: dict[str, Any] = Field(default_factory=dict)
    then: tuple[_Answer, ...] = ()

    def scene(self, places: Mapping[str, tuple[float, float]], seed: int) -> Scene:
        """
        Return the scene alone.

        :param places: of the map, beside the robot's own
        :param seed: where the file gives none
        """
        given = {name: getattr(self, name) for name in Scene.model_fields
                 if name in self.model_fields_set}
        # A dock that charges would change readings with the speed of the model.
        return Scene(**{'seed': seed, 'charging': 0.0, 'places': dict(places), **given})


class Mission(_Answer):
    """
    A mission.

    :param tools: name of a set of tool_sets.yaml
    :param offending: calls of a plan that is wrong, for goals that need no call
    :param budget: calls at most, finish included; by itself twice the optimum and two more
    """

    id: str = Field(pattern=r'[a-z][a-z0-9_]*')
    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)
    tools: str = 'base'
    worlds: tuple[Variant, ...] = Field(min_length=WORLDS, max_length=WORLDS)
    offending: Calls = ()
    budget: int = Field(default=0, ge=0)
    then: tuple[FollowUp, ...] = ()

    @model_validator(mode='after')
    def _follow_ups_agree(self) -> Mission:
        for world in self.worlds:
            if len(world.then) not in (0, len(self.then)):
                raise ValueError(f'{self.id}: a world has {len(world.then)} answers for '
                                 f'{len(self.then)} follow-ups')
        for expect in (self.expect, *(world.expect for world in self.worlds)):
            Expect(**expect)
        return self


class MissionFile(_Strict):
    """A file of missions of one kind; its folder is the split, its name the kind."""

    version: Literal[1]
    missions: list[Mission] = Field(min_length=1)


@dataclass(frozen=True)
class CaseGoal:
    """
    A goal as it is sent, and its right answer.

    :param optimum: calls of the reference solution, finish included
    """

    text: str
    context: str
    solution: Calls
    expect: Expect
    budget: int

    @property
    def optimum(self) -> int:
        return len(self.solution)


@dataclass(frozen=True)
class Case:
    """A mission in one world and one language."""

    mission: str
    kind: str
    split: str
    tools: str
    language: str
    world: int
    scene: Scene
    goals: tuple[CaseGoal, ...]
    offending: Calls = ()

    @property
    def key(self) -> str:
        """Return what no other case has."""
        return f'{self.mission}/{self.world}/{self.language}'


def _with_finish(solution: Calls, expect: Expect) -> Calls:
    if solution and solution[-1].startswith('finish '):
        return solution
    word = 'true' if expect.outcome in ('succeeded', 'recovered') else 'false'
    return (*solution, f'finish {word} Done.')


def _goal(text: str, answers: Sequence[_Answer | Variant], budget: int) -> CaseGoal:
    """Return a goal; later answers go before earlier ones, field by field."""
    expect = Expect(**{key: value for answer in answers for key, value in answer.expect.items()})
    solutions = [a.solution for a in answers if 'solution' in a.model_fields_set]
    solution = _with_finish((solutions or [()])[-1] or (), expect)
    context = next((a.context for a in reversed(answers) if a.context), '')
    return CaseGoal(text, context, solution, expect,
                    budget or max(_LEAST_BUDGET, 2 * len(solution) + 2))


def cases(mission: Mission, kind: str, split: str,
          places: Mapping[str, tuple[float, float]]) -> Iterator[Case]:
    """Yield a mission in all its worlds and languages."""
    for number, world in enumerate(mission.worlds, 1):
        for language in LANGUAGES:
            goals = [_goal(getattr(mission, language), (mission, world), mission.budget)]
            changes = world.then or (None,) * len(mission.then)
            for follow_up, change in zip(mission.then, changes):
                answers = (follow_up,) if change is None else (follow_up, change)
                goals.append(_goal(getattr(follow_up, language), answers, 0))
            yield Case(mission.id, kind, split, mission.tools, language, number,
                       world.scene(places, number), tuple(goals), mission.offending)


def mission_files(folder: Path = FOLDER) -> Iterator[tuple[str, str, MissionFile]]:
    """Yield split, kind and content of every mission file."""
    for split in SPLITS:
        for path in sorted((folder / split).glob('*.yaml')):
            yield split, path.stem, read_file(str(path), MissionFile)


def all_cases(places: Mapping[str, tuple[float, float]]) -> Iterator[Case]:
    """Yield all missions in all their worlds and languages."""
    for split, kind, file in mission_files():
        for mission in file.missions:
            yield from cases(mission, kind, split, places)
