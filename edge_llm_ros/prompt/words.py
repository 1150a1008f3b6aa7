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

"""What the planner itself says to the model while a goal runs."""

from __future__ import annotations

from typing import Annotated

from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.forethought import Judgement
from pydantic import BaseModel, ConfigDict, Field, model_validator

_LONGEST = 600  # characters of a text


_FILLED_IN = {
    'reminder': ('goal', 'done'), 'stopped': ('reason',), 'failed': ('call', 'error'),
    'given_up': ('call', 'error'), 'unused': ('names',), 'guessed': ('names',),
    'before': ('goal', 'did'), 'route_explained': ('groups',)}
_Text = Annotated[str, Field(min_length=1, max_length=_LONGEST)]
_Line = Annotated[str, Field(min_length=1, max_length=60, pattern=r'^[^\n{<]+$')]


class Labels(BaseModel):
    """What the judgements of a goal are called."""

    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)

    can_do: _Line = 'clear and possible'
    no_call_needed: _Line = 'answered without a function'
    missing_information: _Line = 'unclear'
    impossible: _Line = 'impossible'
    unsafe: _Line = 'dangerous'

    @model_validator(mode='after')
    def _are_distinct(self) -> Labels:
        texts = [self.of(judgement) for judgement in Judgement]
        if len(set(texts)) < len(texts):
            raise ValueError('each judgement needs a text of its own')
        return self

    def of(self, judgement: Judgement) -> str:
        """Return what a judgement is called."""
        return str(getattr(self, judgement.value))


class Words(BaseModel):
    """
    Texts that a prompt file can have otherwise.

    :param check: ends the message that asks whether a goal is really reached
    :param check_failed: the same where a call failed and was not made good
    :param check_forgotten: the same where the goal names what no call used
    :param conditional: words of goals of which not everything that they name is to be done
    :param once_more: of a call that failed for the first time
    :param another_way: of a call that failed again
    :param repeated: of a call that was made before with the same result
    :param labels: what the judgements of a goal are called
    :param triage_opening: stands before a judgement
    :param triage_explained: what the system message says of judgements
    :param route_opening: stands before the group of tools that the model chooses
    :param route_all: what it writes where a goal needs several groups
    :param route_opened: what is said once where it has no way with the tools that it chose
    :param route_explained: what the system message says of groups; {groups} is filled in
    :param plan_opening: stands before the sub-goals
    :param plan_explained: what the system message says of sub-goals
    :param reminder: follows a result; {goal} and {done} are filled in
    :param stopped: why a program did not go on; {reason} is filled in
    :param failed: such a reason, after a call that was made twice: {call} and {error}
    :param given_up: ends a goal whose call the model makes again and again
    :param unused: such a reason: the goal names {names}, and the program has nothing of it
    :param guessed: such a reason: the program has {names}, of which nobody spoke
    :param excluding: words of goals of which not everything that they name has to be used
    :param branching: words of goals of which a part is done in some cases only
    :param before: what a goal before this one came to; {goal} and {did} are filled in
    :param thought_opening: stands before a thought, where the model has no tags for it
    :param thought_explained: what the system message says of thoughts
    """

    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)

    check: _Text = (
        'Is every part of the goal in the list of what was done? If a part is missing, make its '
        'call now. If nothing is missing, call finish again.')
    check_failed: _Text = (
        'These calls failed. Make them good now, or call finish with success false and say what '
        'failed.')
    check_forgotten: _Text = (
        'The goal names what is forgotten here, and no call used it. Make the calls for it now, '
        'and after them what has to be done there, in the order of the goal. Then call finish.')
    conditional: tuple[_Line, ...] = (
        'if', 'else', 'otherwise', 'unless', 'or', 'not', "don't", 'except', 'without', 'never',
        'than', 'between', '如果', '要是', '否则', '或', '不', '别', '除', '低于', '高于')
    once_more: _Text = (
        'Make the same call once more, or reach the goal another way.')
    another_way: _Text = (
        'It failed again: do not repeat it. Reach the goal another way, or call finish with '
        'success false and say what failed.')
    repeated: _Text = (
        'This call was made before and had the same result: go on with the next part of the '
        'goal, or call finish.')
    labels: Labels = Labels()
    triage_opening: _Line = 'The goal is '
    triage_explained: _Text = (
        '- First judge the goal. Say that it is dangerous if it could hurt people or break '
        'things, impossible if no function can do it, unclear if it does not say which object, '
        'place or value is meant. Then call finish with success false.')
    route_opening: _Line = 'Functions: '
    route_all: _Line = 'all'
    route_explained: _Text = (
        '- Before the first call say which functions the goal needs: {groups}; all, if it needs '
        'several of these.')
    route_opened: _Text = (
        'Now all functions can be called. Go on if one of the others helps, or call finish again.')
    plan_opening: _Line = 'Plan:'
    plan_explained: _Text = (
        '- Before the first call write a plan: each part of the goal in a line, in order. After '
        'a call that failed write what is left to do.')
    reminder: _Text = 'Goal: {goal}\nDone: {done}'
    stopped: _Text = 'Stopped: {reason}'
    failed: _Text = '{call} failed twice: {error}'
    given_up: _Text = '{call} failed: {error}'
    unused: _Text = (
        'Not run: it does nothing at {names}, which was said. Write all of it again.')
    guessed: _Text = (
        'Not run: nobody said {names}. Write it again, or ask if it is not known.')
    excluding: tuple[_Line, ...] = (
        'not', "don't", 'never', 'without', 'except', 'instead', 'no', 'avoid', '不', '别', '除',
        '没', '无')
    branching: tuple[_Line, ...] = (
        'if', 'unless', 'otherwise', 'in case', 'wherever', '如果', '要是', '倘若', '否则', '不然',
        '的话', '除非', '万一')
    before: _Text = '(Before: {goal} {did})'
    thought_opening: _Line = 'Thought: '
    thought_explained: _Text = (
        '- Before each call write in a line what is done and what comes next.')

    @model_validator(mode='after')
    def _can_be_filled_in(self) -> Words:
        for name, fields in _FILLED_IN.items():
            try:
                getattr(self, name).format(**dict.fromkeys(fields, ''))
            except (KeyError, IndexError, ValueError):
                known = ', '.join(f'{{{field}}}' for field in fields)
                raise ValueError(f'{name}: only {known} can be filled in') from None
        return self

    def earlier(self, goal: str, did: str) -> str:
        """Return what the model is told of a goal before the one that begins."""
        return self.before.format(goal=canonical_json(goal), did=did)
