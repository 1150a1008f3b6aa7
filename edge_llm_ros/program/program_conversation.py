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

"""One conversation in which the model writes programs, and their calls are made one by one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
import json
import math
import re
import time
from typing import Any, Protocol

from edge_llm_ros.flow.cancellation import Cancellation, StepCancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.engine import Completion, Sampling, Stop
from edge_llm_ros.flow.forethought import Occasion
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallCanceled, CallMade, Prefilling, Writing
from edge_llm_ros.flow.tool import (
    Choices, FINISH, NO_CHOICES, Observation, RECALL, Status, ToolCall, ToolSchema)
from edge_llm_ros.program.interpreter import Run
from edge_llm_ros.program.language import DONE, Ending, FAILED, ProgramError
from edge_llm_ros.program.program import Program
from edge_llm_ros.program.program_check import ProgramCheck
from edge_llm_ros.program.program_format import PROGRAM
from edge_llm_ros.prompt.local_conversation import (
    all_generated, LocalConversation, Owner)
from edge_llm_ros.prompt.pieces import Piece
from edge_llm_ros.prompt.transcript import MessageKind, Tokens
from edge_llm_ros.prompt.words import Words

_MOST_HEARD = 64
_MOST_MISTAKES = 3  # programs of a goal that cannot go on by themselves
_UNREADABLE = 1000  # doubts
_SHARE = 0.8  # of a step's time that another program may take
_TEMPERATURE = 0.7  # of programs after the first
_VALUE_LENGTH = 80  # characters of a result that the next goal is told
_GOAL_LENGTH = 200  # of a goal that the next is told
_DID_LENGTH = 400  # of its calls
_MOST_CALLS = 12
_MOST_GOALS = 2  # that the next is told
_NUMBER = re.compile(r'-?(0|[1-9]\d{0,14})(\.\d{1,9})?')


class ProgramOwner(Owner, Protocol):
    """What the conversation needs of its model."""

    words: Words
    functions: Sequence[ToolSchema]
    summary_length: int

    def follow_ups(self, goal: str) -> Sequence[Piece]:
        """Return examples of goals that need those before them, as this one may."""

    def bias(self, follows: bool) -> Mapping[int, float]:
        """Return what is added to the logits of tokens where a goal is judged."""


class ProgramConversation(LocalConversation):
    """
    A conversation whose turns are programs.

    The agent sees calls, as from any other conversation: those of the program that runs cost
    nothing. A call that fails, and a program that cannot go on, end it; the model is told why.

    :param name: of the sequence in the engine
    :param lasting: whether it has a session id
    """

    def __init__(self, model: ProgramOwner, name: str, lasting: bool) -> None:
        super().__init__(model, name, lasting)
        self._owner = model
        self._heard: list[str] = []
        self._did: list[str] = []
        self._earlier: list[str] = []
        self._begin_goal('', follows=False)

    def _begin_goal(self, instruction: str, follows: bool) -> None:
        self._follows = follows
        self._check = ProgramCheck(
            instruction, self._heard, self._owner.functions, self._owner.words)
        self._run: Run | None = None
        self._value: Any = None
        self._variables: dict[str, Any] = {}
        self._due: ToolCall | None = None  # whatever the program says
        self._failures: dict[str, int] = {}  # of calls, since another worked
        self._error = ''
        self._mistakes = 0
        self._occasion = Occasion.FIRST

    def instruct(self, instruction: str, context: str) -> None:
        """Append what a person asks for, live facts, and what came of the goals before it."""
        if self._did:
            did = '; '.join(self._did[-_MOST_CALLS:])[:_DID_LENGTH]
            self._earlier = [*self._earlier[1 - _MOST_GOALS:], self._owner.words.earlier(
                self._instruction[:_GOAL_LENGTH], did)]
        self._did = []
        self._hear(instruction)
        self._hear(context)
        self._begin_goal(instruction, follows=len(self._transcript) > 0)
        super().instruct(instruction, '\n'.join(filter(None, (
            *self._earlier, context))))

    def _examples(self) -> Sequence[Piece]:
        """Return follow-ups like the goal that begins, where it is one."""
        return self._owner.follow_ups(self._instruction) if self._follows else ()

    def _hear(self, text: str) -> None:
        """Remember what was said or found: programs may speak of it."""
        self._heard = [*self._heard[1 - _MOST_HEARD:], text]
        self._check.hear(text)

    def observe(self, call: ToolCall, observation: Observation) -> None:
        """
        Give the program what its call came to, or end it.

        A call that failed is made once more before the model hears of it.
        """
        if call.name == FINISH:  # a question whether that is all
            self._stop(observation.text)
        elif observation.worked:
            self._failures = {}  # what it did may be what they need to work
            self._value = _value(observation.text)
            self._hear(observation.text)
            # What has arguments says by them what was asked for.
            # But for what was looked up, which is known only from its answer.
            self._did.append(_written(call) if call.arguments and call.name != RECALL else (
                f'{_written(call)} was {canonical_json(self._value)[:_VALUE_LENGTH]}'))
        else:
            self._fail(call, observation)

    def _fail(self, call: ToolCall, observation: Observation) -> None:
        key, words = _written(call), self._owner.words
        count = self._failures[key] = self._failures.get(key, 0) + 1
        self._error = words.given_up.format(call=key, error=observation.error)
        self._hear(observation.error)
        if count == 1 and observation.status is Status.FAILED:
            self._due = call
        elif self._run is not None and self._run.in_condition:
            self._value = None  # whether it works may be what is asked
        else:
            self._stop(self._error if count == 1 else words.failed.format(
                call=key, error=observation.error))

    def _stop(self, reason: str) -> None:
        """End the program and tell the model why; what it has read stays known."""
        if self._run is not None:
            self._variables = dict(self._run.variables)
        self._run = None
        self._append(MessageKind.OBSERVATION, self._model.format.observation(
            ToolCall(PROGRAM), self._owner.words.stopped.format(reason=reason)))

    def next_call(self, allowed: frozenset[str] | None, cancellation: Cancellation,
                  choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.NEXT
                  ) -> Iterator[Prefilling | Writing | CallMade | CallCanceled]:
        """Go on with the program; let the model write one where there is none."""
        made = CallMade(ToolCall(PROGRAM), TokenCounts(), 0.0, 0.0)
        call, self._due = self._due, None
        while call is None:
            if self._run is None:
                for event in super().next_call(
                        allowed, cancellation, choices, self._occasion):
                    if isinstance(event, CallMade):
                        made = _and_again(made, event)
                    else:
                        yield event
                        if isinstance(event, CallCanceled):
                            return
                self._occasion = Occasion.NEXT
            call = self._advance(str(made.call.arguments.get('text', '')))
        yield replace(made, call=call, planned=True)

    def _attempt(self, opening: Tokens, grammar: str, cancellation: Cancellation,
                 sampling: Sampling | None = None
                 ) -> Generator[Prefilling | Writing, None, Completion]:
        """
        Write programs until one raises no doubt; return that, else the least doubtful.

        Rejection sampling: a model of few parameters is more often right than its first answer.
        """
        began = time.monotonic()
        best = yield from super()._attempt(opening, grammar, cancellation, sampling)
        least, count = self._doubts(best), 1
        while least and count < self._model.limits.candidates and best.stop is not Stop.CANCELED:
            each = (time.monotonic() - began) / count
            if cancellation.seconds_left < 2 * each:
                break
            other = yield from self._another(opening, grammar, cancellation, count)
            doubts, count = self._doubts(other), count + 1
            if other.stop is Stop.CANCELED and not cancellation.canceled:
                count = self._model.limits.candidates  # it took too long
            elif other.stop is Stop.CANCELED or doubts < least:
                best, other, least = other, best, doubts
            self._give_up(other)
        return best

    def _another(self, opening: Tokens, grammar: str, cancellation: Cancellation, number: int
                 ) -> Generator[Prefilling | Writing, None, Completion]:
        """Sample another program, in a share of the time that is left."""
        sampling = self._model.limits.sampling
        step = StepCancellation(cancellation, _SHARE * cancellation.seconds_left)
        try:
            return (yield from super()._attempt(opening, grammar, step, replace(
                sampling, seed=sampling.seed + number,
                temperature=max(sampling.temperature, _TEMPERATURE))))
        finally:
            step.close()

    def _doubts(self, completion: Completion) -> float:
        """Return how much speaks against a program; one without an end is the worst."""
        if completion.stop is not Stop.COMPLETE:
            return math.inf
        _, program = self._read(self._text(completion.tokens))
        text = str(program.arguments['text'])
        try:
            Program.parse(text, self._owner.functions, self._variables)
        except ProgramError:
            return _UNREADABLE
        return self._check.doubts(text)

    def _advance(self, text: str) -> ToolCall | None:
        """Return the program's next call; None where it cannot go on and another is due."""
        try:
            if self._run is None:
                program = Program.parse(text, self._owner.functions, self._variables)
                question = self._check.question(text)
                if question:
                    self._stop(question)
                    return None
                self._run = program.run()
            action = self._run.next(self._value)
        except ProgramError as error:
            self._mistakes += 1
            self._stop(str(error))
            return self._finished(FAILED, str(error)) if self._mistakes >= _MOST_MISTAKES else None
        if isinstance(action, Ending):
            self._run = None
            return self._finished(action.kind, action.text)
        if self._failures.get(_written(action), 0) > 1 and not self._run.in_condition:
            return self._finished(FAILED, self._error)
        return action

    def _finished(self, kind: str, summary: str) -> ToolCall:
        if kind != DONE or not self._did:
            self._did.append(f'{kind}({canonical_json(summary)})')
        return ToolCall(FINISH, {
            'success': kind == DONE, 'summary': summary[:self._owner.summary_length]})

    def _bias(self) -> Mapping[int, float]:
        return self._owner.bias(self._follows) if self._occasion is Occasion.FIRST else {}

    def _read(self, text: str) -> tuple[str, ToolCall]:
        return '', self._model.format.parse(text)

    def _generated(self, completion: Completion, call: ToolCall, before: str) -> TokenCounts:
        return all_generated(completion)


def _and_again(before: CallMade, after: CallMade) -> CallMade:
    """Return a turn with the cost of those before it that led to no call."""
    return CallMade(
        after.call, before.counts + after.counts, before.first_token or after.first_token,
        before.seconds + after.seconds, after.lost or before.lost, before.decode + after.decode)


def _value(text: str) -> Any:
    """
    Return what a call's result is to a program: its only field, else all of it.

    Services that have nothing but a text for a number are read as numbers: programs compare them.
    """
    try:
        result = json.loads(text)
    except ValueError:
        return text
    if isinstance(result, dict) and len(result) == 1:
        result = next(iter(result.values()))
    if isinstance(result, str) and _NUMBER.fullmatch(result.strip()):
        return json.loads(result)
    return result


def _written(call: ToolCall) -> str:
    """Return a call as a program writes it."""
    return f'{call.name}({", ".join(map(canonical_json, call.arguments.values()))})'
