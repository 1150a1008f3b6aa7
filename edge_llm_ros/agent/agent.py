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

"""The loop: the model makes a call, the toolset makes it real, the model is told the end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
import time

from edge_llm_ros.agent.finish_check import FinishCheck
from edge_llm_ros.agent.loop_guard import LoopGuard
from edge_llm_ros.agent.recovery_hints import RecoveryHints
from edge_llm_ros.agent.working import Working
from edge_llm_ros.flow.cancellation import (
    Cancellation, FallbackCancellation, StepCancellation)
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import CallCutShort, ContextFull, EngineError
from edge_llm_ros.flow.event import Event, EventKind, Finished
from edge_llm_ros.flow.forethought import Occasion
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.model import CallCanceled, CallMade, Conversation, Model, Prefilling
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.flow.step import Step
from edge_llm_ros.flow.tool import (
    FallbackCall, FINISH, GoalFacts, NO_FACTS, Observation, Status, ToolCall, Toolset)
from edge_llm_ros.prompt.words import Words

_SENTENCES = {
    Outcome.TIMEOUT: 'The time budget is spent.',
    Outcome.CANCELED: 'The goal was canceled.',
    Outcome.PREEMPTED: 'A newer goal took over.',
    Outcome.STOPPED: 'An operator stopped the robot.',
    Outcome.DEACTIVATED: 'The planner was deactivated.',
}

# The planner could not go on; in the other cases somebody decided that the goal ends.
_FALLBACK_AFTER = (
    Outcome.TIMEOUT, Outcome.ENGINE_ERROR, Outcome.LOOP, Outcome.CONTEXT_FULL)
_FALLBACK_SECONDS = 30.0

StepAndCall = Generator[Event, None, tuple[Step, ToolCall | None]]
StepAndObservation = Generator[Event, None, tuple[Step, Observation]]
End = Generator[Event, None, tuple[Outcome, str]]


class Agent:
    """
    Runs goals, one at a time.

    :param model: makes the calls
    :param toolset: makes them real
    :param words: what it says to the model
    """

    def __init__(self, model: Model, toolset: Toolset, words: Words | None = None) -> None:
        self._model = model
        self._toolset = toolset
        self._words = words or Words()

    def run(self, goal: Goal, cancellation: Cancellation) -> Iterator[Event | Finished]:
        """
        Run a goal; the last event is Finished, whatever happens to the goal.

        :param cancellation: ends the goal when it is set; carries its time budget
        """
        conversation = self._model.conversation(goal.session_id)
        run = _Run(self._toolset, conversation, goal, cancellation, self._words)
        try:
            yield from run.events(self._model.on_failure)
        finally:
            conversation.end(run.note)


class _Run:
    """One goal on its way."""

    def __init__(self, toolset: Toolset, conversation: Conversation, goal: Goal,
                 cancellation: Cancellation, words: Words) -> None:
        self._toolset = toolset
        self._conversation = conversation
        self._goal = goal
        self._cancellation = cancellation
        self._guard = LoopGuard(goal.loop_limit)
        schemas = toolset.schemas()
        self._check = FinishCheck(goal.check_finish, goal.instruction, words, schemas)
        self._silent = frozenset(schema.name for schema in schemas if schema.silent)
        self._words = words
        self._hints: RecoveryHints | None = None
        self._questioned = Metrics()
        self._occasion = Occasion.FIRST
        self._forethought = ''
        self._planned = False
        self.note = ''
        self._facts = NO_FACTS
        self._allowed = goal.allowed_tools
        self._among: frozenset[str] | None = None  # which the model chose itself
        self._steps: list[Step] = []
        self._metrics = Metrics()
        self._start = time.monotonic()
        self._failure = ''  # of the model, while it was not asked anything

    def events(self, on_failure: Callable[[Callable[[str], None]], Callable[[], None]]
               ) -> Iterator[Event | Finished]:
        # Withdrawn before the fallback, which needs no model.
        withdraw = on_failure(self._fail)
        try:
            outcome, message = yield from self._steps_until_end()
        except CallCutShort as error:
            cost = Metrics(tokens=error.counts, inference=error.seconds)
            self._keep(Step(len(self._steps), status=Status.FAILED, error=str(error),
                            metrics=self._without_call(cost)))
            outcome, message = Outcome.ENGINE_ERROR, str(error)
        except ContextFull as error:
            outcome, message = Outcome.CONTEXT_FULL, str(error)
        except EngineError as error:
            outcome, message = Outcome.ENGINE_ERROR, str(error)
        finally:
            withdraw()
        if outcome in _FALLBACK_AFTER and self._toolset.fallback is not None:
            # Whatever comes now is a second reason, which ends the fallback, too.
            self._cancellation.cancel(outcome)
            message = yield from self._fall_back(message, self._toolset.fallback)
        if outcome not in (Outcome.SUCCEEDED, Outcome.FAILED):
            self.note = f'The goal before this one was ended: {message}'
        yield Finished(Result(outcome, message, tuple(self._steps), self._now()))

    def _fail(self, why: str) -> None:
        """End the goal, whose tool may be at work: the model cannot go on with it."""
        self._failure = why
        if not self._cancellation.canceled:  # else it would insist on that end
            self._cancellation.cancel(Outcome.ENGINE_ERROR)

    def _fall_back(self, message: str, fallback: FallbackCall) -> Generator[Event, None, str]:
        """Make the call that the tool file has for this case; return what the result says."""
        call = fallback.call
        step = Step(len(self._steps), call.name, canonical_json(dict(call.arguments)),
                    Status.RUNNING)
        cancellation = FallbackCancellation(self._cancellation, _FALLBACK_SECONDS)
        step, observation = yield from self._make(step, call, cancellation, None)
        self._keep(step)
        yield Event(EventKind.STEP_DONE, step, '', self._now())
        how = 'was made' if observation.worked else f'failed: {observation.error}'
        return f'{message} {fallback.message} The fallback call {call.name} {how}.'

    def _now(self, step: Step | None = None) -> Metrics:
        metrics = self._metrics if step is None else self._metrics.plus_step(step.metrics)
        return replace(metrics, wall=time.monotonic() - self._start)

    def _event(self, kind: EventKind, step: Step, text: str = '') -> Event:
        return Event(kind, step, text, self._now(step))

    def _keep(self, step: Step) -> None:
        self._steps.append(step)
        self._metrics = self._metrics.plus_step(step.metrics)

    def _ended(self) -> tuple[Outcome, str]:
        reason = self._cancellation.reason
        if reason is None:
            return Outcome.TIMEOUT, (
                f'A step took the model longer than step_budget = {self._goal.step_budget:g} s.')
        if reason is Outcome.ENGINE_ERROR:
            return reason, self._failure
        return reason, _SENTENCES.get(reason, reason.name)

    def _steps_until_end(self) -> End:
        if self._cancellation.canceled:
            return self._ended()
        self._facts = facts = self._toolset.facts(self._goal.allowed_tools, self._cancellation)
        self._allowed = self._possible(facts)
        if self._allowed is not None and not self._allowed:
            return Outcome.FAILED, ('No tool can be called: ' + '; '.join(
                f'{tool}: {reason}' for tool, reason in facts.impossible.items()) + '.')
        if self._goal.recovery_hints:
            self._hints = RecoveryHints(
                self._toolset.schemas(), self._facts.choices, self._words)
        self._conversation.instruct(self._goal.instruction, '\n'.join(
            filter(None, (facts.text, self._goal.context))))
        for index in range(self._goal.max_steps):
            if self._cancellation.canceled:
                return self._ended()
            step, call = yield from self._decide(Step(index, status=Status.GENERATING))
            if call is None:
                return self._ended()
            if call.name == FINISH:
                return (yield from self._finish(step, call))
            step, observation = yield from self._make(
                step, call, self._cancellation, _both(self._allowed, self._among))
            self._check.note(call, observation)
            self._occasion = Occasion.NEXT
            if observation.went_wrong:
                self._occasion, self._among = Occasion.AFTER_FAILURE, None
            told = observation if self._hints is None else self._hints.hinted(call, observation)
            step = replace(step, observation=told.text)
            self._keep(step)
            # Told before the goal ends, so that a session that goes on knows what happened.
            self._conversation.observe(call, told)
            yield Event(EventKind.STEP_DONE, step, '', self._now())
            if self._cancellation.canceled:
                return self._ended()
            if self._guard.is_loop(call, observation) and not (
                    self._planned and observation.worked):
                return Outcome.LOOP, (
                    f'The model repeated {call.name} {step.arguments} with the same result.')
        return Outcome.MAX_STEPS, f'The goal was not reached in {self._goal.max_steps} steps.'

    def _possible(self, facts: GoalFacts) -> frozenset[str] | None:
        """Return the tools that can be called in this goal; None for all."""
        if not facts.impossible:
            return self._goal.allowed_tools
        allowed = self._goal.allowed_tools
        names = {t.name for t in self._toolset.schemas()} if allowed is None else allowed
        return frozenset(names - facts.impossible.keys())

    def _decide(self, step: Step) -> StepAndCall:
        """Let the model make a call, and make it again if the goal may not end yet."""
        done, call = yield from self._next_call(step, self._allowed)
        question = None if call is None else self._question(call)
        if call is None or question is None:
            return done, call
        # The call was not made, so it is no step; what it cost belongs to the one that follows.
        self._questioned = done.metrics
        self._conversation.observe(call, question)
        self._occasion, self._among = Occasion.NEXT, None
        before = self._forethought
        done, call = yield from self._next_call(
            step, self._but_finish() if self._check.insists else self._allowed)
        self._questioned = Metrics()
        self._forethought = self._forethought or before
        return done, call

    def _question(self, call: ToolCall) -> Observation | None:
        """Return what the model is told instead of ending the goal; None where it may end."""
        if call.name != FINISH:
            return None
        if self._among is not None and not call.arguments.get('success'):
            # It may have chosen the wrong tools.
            return Observation(Status.REFUSED, canonical_json(
                {'ended': False, 'check': self._words.route_opened}), 'not ended yet')
        return self._check.question(call)

    def _but_finish(self) -> frozenset[str] | None:
        """Return the tools that can be called while the goal may not end."""
        names = {t.name for t in self._toolset.schemas()} if self._allowed is None else (
            self._allowed)
        return frozenset(names - {FINISH}) or self._allowed

    def _without_call(self, cost: Metrics) -> Metrics:
        """Return the metrics of a step that made no call, one that was questioned included."""
        return replace(self._questioned.and_again(cost), steps=0)

    def _next_call(self, step: Step, allowed: frozenset[str] | None) -> StepAndCall:
        """Let the model make a call; the call is None if the goal must end."""
        cancellation = StepCancellation(self._cancellation, self._goal.step_budget)
        try:
            return (yield from self._generate(step, cancellation, allowed))
        finally:
            cancellation.close()

    def _generate(self, step: Step, cancellation: Cancellation, allowed: frozenset[str] | None
                  ) -> StepAndCall:
        for event in self._conversation.next_call(
                _both(allowed, self._among), cancellation, self._facts.choices, self._occasion):
            if isinstance(event, CallMade):
                self._forethought, self._planned = event.forethought, event.planned
                if self._occasion is Occasion.FIRST:
                    self._among = event.among
                cost = Metrics(
                    steps=1, tokens=event.counts, first_token=event.first_token,
                    worst_first_token=event.first_token, first_call=event.seconds,
                    decode=event.decode or event.seconds - event.first_token,
                    inference=event.seconds, wall=event.seconds, reuse_lost=event.lost)
                return replace(step,
                               tool=event.call.name,
                               arguments=canonical_json(dict(event.call.arguments)),
                               status=Status.RUNNING,
                               metrics=self._questioned.and_again(cost)), event.call
            if isinstance(event, CallCanceled):
                cost = Metrics(tokens=event.counts, inference=event.seconds)
                self._keep(replace(
                    step, status=Status.CANCELED, metrics=self._without_call(cost)))
                return step, None
            if isinstance(event, Prefilling):
                yield self._event(EventKind.PREFILL, step)
            else:
                yield self._event(EventKind.TEXT, step, event.text)
        raise EngineError('the model ended without a call.')

    def _finish(self, step: Step, call: ToolCall) -> End:
        reached = call.arguments.get('success') is True
        step = replace(step, status=Status.SUCCEEDED)
        self._keep(step)
        yield Event(EventKind.CALL, step, self._forethought, self._now())
        yield Event(EventKind.STEP_DONE, step, '', self._now())
        outcome = Outcome.SUCCEEDED if reached else Outcome.FAILED
        return outcome, str(call.arguments.get('summary', ''))

    def _make(self, step: Step, call: ToolCall, cancellation: Cancellation,
              allowed: frozenset[str] | None) -> StepAndObservation:
        """Make a call while passing on its feedback."""
        yield self._event(EventKind.CALL, step, self._forethought)
        start = time.monotonic()
        working = Working(lambda progress: self._toolset.call(
            call, cancellation, allowed=allowed, dry_run=self._goal.dry_run,
            on_progress=progress, facts=self._facts), call.name not in self._silent)
        for line in working.progress():
            yield self._event(EventKind.PROGRESS, step, line)
        observation = working.result()
        seconds = time.monotonic() - start
        cost = replace(step.metrics, tool=seconds, wall=step.metrics.inference + seconds)
        return replace(step, status=observation.status, observation=observation.text,
                       error=observation.error, metrics=cost), observation


def _both(some: frozenset[str] | None, others: frozenset[str] | None) -> frozenset[str] | None:
    """Return the tools that both allow, None being all; the first where there is none."""
    if some is None or others is None:
        return others if some is None else some
    return some & others or some
