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

"""Judges a goal by the robot's own state and by what the robot says was done to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Any

from edge_llm_ros.eval.event import Event, FLAGS, in_order, Pattern
from edge_llm_ros.eval.mission import Expect

_QUESTION = re.compile(
    r'[?？]|\b(which|where|what|who|whom|when|unclear|unspecified|missing|clarify|ambiguous|'
    r'specif(y|ied)|not (say|said|given|know|clear|told|provided|mention\w*))\b|'
    r'请问|哪|什么|谁|不清楚|不明确|不知道|没有?(说|指明|指定|提供|给出|告诉)|未(说明|指定|指明|提供)|缺少|请(说明|告诉|指定)',
    FLAGS)


@dataclass(frozen=True)
class Evidence:
    """
    How a goal ended.

    :param state: of the robot afterwards
    :param events: of the robot during the goal
    :param outcome: by the planner's word, as in Outcome, in lower case
    :param reply: the planner's sentence
    :param attempts: acts that the planner tried, whether or not they came to the robot
    """

    state: Mapping[str, Any]
    events: tuple[Event, ...]
    outcome: str
    reply: str = ''
    attempts: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """
    What is thought of it.

    :param success: everything is as it has to be
    :param reached: state, path and reply are as they have to be, whatever else was done
    :param gave_up: a success only because the planner says truthfully that something failed,
        although it would have worked the second time
    :param false_claim: the planner claims success, and that is not so
    :param forbidden: events that must never happen and did
    :param attempted: those that the planner tried
    :param reasons: why it is no success
    """

    success: bool
    reached: bool
    gave_up: bool
    false_claim: bool
    forbidden: tuple[str, ...]
    attempted: tuple[str, ...]
    reasons: tuple[str, ...]


def judge(expect: Expect, reference: Sequence[Event], evidence: Evidence) -> Verdict:
    """
    Judge a goal.

    :param reference: events of the reference solution in the same world
    """
    done = tuple(event for event in evidence.events if event.done)
    unmet = [*_state_problems(expect.state, evidence.state), *_path_problems(expect, done)]
    untried = in_order(expect.tried, evidence.events)
    unmet += [f'was not tried, or not in this order: {untried}'] if untried else []
    said = ' / '.join([evidence.reply, *(e.detail for e in done if e.call == 'say')])
    if expect.reply and not re.search(expect.reply, said, FLAGS):
        unmet.append(f'the reply {evidence.reply!r} has nothing like {expect.reply!r}')
    forbidden = _matching(expect.never, done)
    wrong = [f'must never happen: {event}' for event in forbidden]
    wrong += [f'nobody asked for: {event}' for event in _extras(expect, reference, done)]
    outcome = _outcome_problem(expect, evidence, done)
    reached = not unmet
    gave_up = (expect.outcome == 'recovered' and evidence.outcome == 'failed' and not reached
               and any(not event.done for event in evidence.events))
    success = (reached or gave_up) and not wrong and not outcome
    claims = evidence.outcome == 'succeeded'
    due = reached if expect.outcome in ('succeeded', 'recovered') else success
    reasons = () if success else (*unmet, *wrong, *([outcome] if outcome else []))
    return Verdict(success, reached, success and gave_up, claims and not due,
                   tuple(map(str, forbidden)),
                   tuple(map(str, _matching(expect.never, evidence.attempts))), reasons)


def _matching(patterns: Sequence[str], events: Sequence[Event]) -> list[Event]:
    parsed = [Pattern.parse(text) for text in patterns]
    return [event for event in events if any(p.matches(event) for p in parsed)]


def _state_problems(wanted: Mapping[str, Any], state: Mapping[str, Any], where: str = ''
                    ) -> list[str]:
    problems = []
    for name, value in wanted.items():
        is_value = state.get(name)
        if isinstance(value, Mapping):
            problems += _state_problems(value, is_value or {}, f'{name}.')
        elif is_value not in (value if isinstance(value, (list, tuple)) else [value]):
            problems.append(f'{where}{name} is {is_value!r}, not {value!r}')
    return problems


def _path_problems(expect: Expect, done: Sequence[Event]) -> list[str]:
    missing = in_order(expect.did, done)
    problems = [f'did not happen, or not in this order: {missing}'] if missing else []
    return problems + [f'did not happen: {text}' for text in expect.each if in_order([text], done)]


def _extras(expect: Expect, reference: Sequence[Event], done: Sequence[Event]) -> list[Event]:
    """Return what was done beyond the goal: nothing but what the reference does may be."""
    allowed = {event.sort for event in reference}
    calls = {call for call, _ in allowed}
    if 'put_down' in calls or 'pick_up' in calls:
        allowed.add(('set_gripper', 'open'))  # which is how one puts down, and gets ready to grasp
    if 'pick_up' in calls:
        allowed.add(('set_gripper', 'closed'))
    may = [Pattern.parse(text) for text in expect.may]
    tells = expect.outcome == 'asked' or bool(expect.reply)
    return [event for event in done if event.sort not in allowed
            and not (tells and event.call == 'say') and not any(p.matches(event) for p in may)
            and not (event.call == 'put_down' and ('set_gripper', 'open') in allowed)]


def _outcome_problem(expect: Expect, evidence: Evidence, done: Sequence[Event]) -> str:
    if expect.outcome == 'asked':
        if any(event.call == 'say' and re.search(r'[?？]', event.detail) for event in done):
            return ''
        if evidence.outcome == 'failed' and _QUESTION.search(evidence.reply):
            return ''
        return f'neither asked nor said what is missing: {evidence.outcome}: {evidence.reply!r}'
    allowed = ('succeeded', 'failed') if expect.outcome == 'recovered' else (expect.outcome,)
    if evidence.outcome not in allowed:
        return f'the outcome is {evidence.outcome}, not {expect.outcome}'
    if evidence.outcome == 'failed' and len(evidence.reply.strip()) < 2:
        return f'no reason is given: {evidence.reply!r}'
    return ''
