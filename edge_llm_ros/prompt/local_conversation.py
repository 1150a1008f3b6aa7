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

"""One conversation with a model on this robot."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
import itertools
import logging
import time
from types import MappingProxyType
from typing import Protocol

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import (
    ACCEPTED, Completion, Engine, FORCED, GenerateRequest, PrefillProgress, SAMPLED, Sampling,
    Stop)
from edge_llm_ros.flow.errors import CallCutShort, EngineError
from edge_llm_ros.flow.forethought import Occasion
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallCanceled, CallMade, Prefilling, Writing
from edge_llm_ros.flow.tool import (
    Choices, FINISH, NO_CHOICES, Observation, ToolCall, ToolSchema)
from edge_llm_ros.prompt.call_text import forethought_of, free_text_tokens, without_frame
from edge_llm_ros.prompt.chat_format import ChatFormat
from edge_llm_ros.prompt.forethought import Forethought
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.goal_reminder import GoalReminder
from edge_llm_ros.prompt.pieces import Piece
from edge_llm_ros.prompt.shorten import shortened
from edge_llm_ros.prompt.transcript import Message, MessageKind, Tokens, Transcript

logger = logging.getLogger(__name__)

# Of this process: an id that was canceled once is never used again.
_requests = itertools.count(1)
_SHORTER = 4  # times, after a call that was too long
_SUMMARY_FRAME = 64  # tokens of the request for a summary
_KEPT_SHARE = 0.5  # of a session's room, once it is full: so that it does not happen every turn
_SUMMARIZE = (
    'Before going on: say in one line what was asked, done and found so far, with names and '
    'numbers.')
_LEFT_OUT = '(Earlier messages of this conversation were left out to save room.{summary})'


class Owner(Protocol):
    """What a conversation needs of its model."""

    engine: Engine
    format: ChatFormat
    tools: tuple[ToolSchema, ...]
    limits: GenerationLimits
    forethought: Forethought
    reminder: GoalReminder | None
    log_prompts: bool
    prefix: Tokens

    @property
    def turn_tokens(self) -> int:
        """Return the tokens that the model can write in a turn at most."""

    def tokens(self, pieces: Sequence[Piece]) -> Tokens:
        """Return the tokens of pieces."""

    def grammar(self, allowed: frozenset[str] | None, text_length: int,
                choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.NEXT) -> str:
        """Return the grammar of a turn with a call of the allowed tools."""


class LocalConversation:
    """
    One conversation: the prefix, then messages and calls, as tokens.

    :param name: of the sequence in the engine
    :param lasting: whether it has a session id
    """

    def __init__(self, model: Owner, name: str, lasting: bool) -> None:
        self._model = model
        self.name = name
        self.lasting = lasting
        self._transcript = Transcript(model.prefix)
        self._new = 0
        self._spent = TokenCounts()
        self._decode_seconds = 0.0
        self._first_token: float | None = None  # of the turn that is due, in seconds
        self._lost = ''
        self._note = ''
        self._told = time.monotonic()
        self._instruction = ''
        self._done: list[ToolCall] = []

    @property
    def tokens(self) -> Tokens:
        """Return the conversation so far."""
        return self._transcript.tokens

    def _append(self, kind: MessageKind, pieces: Sequence[Piece], text: str = '') -> None:
        self._told = time.monotonic()
        tokens = self._model.tokens(pieces)
        self._transcript.append(Message(kind, tokens, text))
        self._new += len(tokens)

    def instruct(self, instruction: str, context: str) -> None:
        """Append what a person asks for, and live facts."""
        self._model.engine.pin(self.name, True)
        text = '\n\n'.join(filter(None, (self._note, context.strip(), instruction.strip())))
        self._note = ''
        self._instruction, self._done = instruction, []
        first = not len(self._transcript)
        self._append(MessageKind.INSTRUCTION, [
            *self._examples(), *self._model.format.instruction(text, first)], text)

    def _examples(self) -> Sequence[Piece]:
        """Return the examples for the goal that begins."""
        return ()

    def observe(self, call: ToolCall, observation: Observation) -> None:
        """Append what came of a call, shortened where it is long."""
        model = self._model
        text = shortened(observation.text, model.limits.observation_tokens,
                         lambda text: len(model.engine.tokenize(text, False)))
        if call.name != FINISH and observation.worked:
            self._done.append(call)
        if model.reminder is not None:
            text = model.reminder.after(text, self._instruction, self._done)
        self._append(MessageKind.OBSERVATION, model.format.observation(call, text))

    def end(self, note: str) -> None:
        """Say that the goal is over; a conversation without a session id is forgotten."""
        self._note = note
        self._model.engine.pin(self.name, False)
        if not self.lasting:
            self._model.engine.release(self.name)

    def next_call(self, allowed: frozenset[str] | None, cancellation: Cancellation,
                  choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.NEXT
                  ) -> Iterator[Prefilling | Writing | CallMade | CallCanceled]:
        """Let the model make its next call."""
        model = self._model
        opening = model.tokens(model.format.call_prompt())
        if len(self.tokens) - len(model.prefix) > self._room(opening):
            yield from self._make_room(opening, cancellation)
        self._new += len(opening)
        text_length = model.limits.text_length
        for last, length in ((False, text_length), (True, text_length // _SHORTER)):
            completion = yield from self._attempt(
                opening, model.grammar(allowed, length, choices, occasion), cancellation)
            if completion.stop is not Stop.LENGTH or last:
                yield self._finish(completion, opening)
                return
            logger.info('%s: a call was longer than call_tokens; once more with texts of up to '
                        '%d characters', self.name, text_length // _SHORTER)
            self._give_up(completion)

    def _attempt(self, opening: Tokens, grammar: str, cancellation: Cancellation,
                 sampling: Sampling | None = None
                 ) -> Generator[Prefilling | Writing, None, Completion]:
        """
        Generate a call and return how it ended.

        :param sampling: another one than the limits say
        """
        model = self._model
        if model.log_prompts:
            logger.info('%s: %s', self.name, self._text(
                (self.tokens + opening)[len(model.prefix):]))
        written: list[int] = []
        for event in self._generate(self.tokens + opening, grammar, model.turn_tokens,
                                    cancellation, self._bias(), sampling):
            if isinstance(event, Completion):
                return event
            if isinstance(event, Prefilling):
                yield event
            else:
                written += event
                text = self._text(written)
                yield Writing(without_frame(text, model.format.frame))
        raise EngineError('the engine ended without a completion.')

    def _give_up(self, completion: Completion, passing: Tokens = ()) -> None:
        """
        Count what a generation cost that is not kept.

        :param passing: what was appended for it alone
        """
        self._note_first_token(completion)
        self._lost = completion.lost or self._lost
        new = min(self._new + len(passing), completion.prefill)
        self._spent += TokenCounts(
            cached=completion.cached, prefill=completion.prefill, new=new,
            decode_calls=completion.decode_calls) + all_generated(completion)
        self._decode_seconds += completion.seconds - completion.first_token
        self._new = max(0, self._new - new)

    def _text(self, tokens: Sequence[int]) -> str:
        return self._model.engine.detokenize(tokens).decode('utf-8', 'replace')

    def _note_first_token(self, completion: Completion) -> None:
        if self._first_token is None:
            self._first_token = time.monotonic() - self._told - (
                completion.seconds - completion.first_token)

    def _bias(self) -> Mapping[int, float]:
        """Return what is added to the logits of tokens in the turn that is due."""
        return {}

    def _generate(self, tokens: Tokens, grammar: str, max_tokens: int, cancellation: Cancellation,
                  bias: Mapping[int, float] = MappingProxyType({}),
                  sampling: Sampling | None = None) -> Iterator[Prefilling | Tokens | Completion]:
        """Pass on what the engine says, and the goal's end to the engine."""
        engine = self._model.engine
        request = GenerateRequest(
            id=f'call {next(_requests)}', session=self.name, tokens=tokens, grammar=grammar,
            max_tokens=max_tokens, sampling=sampling or self._model.limits.sampling,
            biased=tuple(bias), bias=tuple(bias.values()))
        withdraw = cancellation.on_cancel(lambda: engine.cancel(request.id))
        try:
            for event in engine.generate(request):
                if isinstance(event, PrefillProgress):
                    yield Prefilling(event.evaluated, event.total)
                elif isinstance(event, Completion):
                    yield event
                else:
                    yield event.tokens
                cancellation.check_deadline()
        finally:
            withdraw()

    def _room(self, opening: Tokens) -> int:
        """Return how many tokens the messages of this session may have."""
        model = self._model
        room = (model.engine.info().context_tokens - len(model.prefix) - len(opening)
                - model.turn_tokens)
        if model.limits.summary_length:
            room -= model.limits.summary_length + _SUMMARY_FRAME
        return min(room, model.limits.session_tokens or room)

    def _make_room(self, opening: Tokens, cancellation: Cancellation) -> Iterator[Prefilling]:
        """Drop the oldest messages, and tell the model so in a line."""
        room, length, summary = self._room(opening), self._model.limits.summary_length, ''
        if not self._transcript.can_shorten(room - length, self._first('')):
            return
        if length:
            told = yield from self._summarize(opening, cancellation)
            if told is None:
                return
            summary = f' Summary: {told}' if told else ''
        before = len(self.tokens)
        dropped, added = self._transcript.shorten(
            room, int(room * _KEPT_SHARE), self._first(_LEFT_OUT.format(summary=summary)))
        self._new += added
        self._lost = 'older messages of the session were left out'
        logger.info('%s: %d messages were left out, %d tokens became %d', self.name, dropped,
                    before, len(self.tokens))

    def _first(self, note: str) -> Callable[[str], Tokens]:
        """Return what writes an instruction as the first message, with a note."""
        model = self._model
        return lambda text: model.tokens(model.format.instruction(f'{note}\n\n{text}', True))

    def _summarize(self, opening: Tokens, cancellation: Cancellation
                   ) -> Generator[Prefilling, None, str | None]:
        """
        Let the model sum up what is about to be dropped.

        :returns: a line; empty where there is no room for it; None if it was canceled
        """
        model, length = self._model, self._model.limits.summary_length
        request = model.tokens(model.format.instruction(_SUMMARIZE, False))
        room = model.engine.info().context_tokens - len(request) - len(opening) - length
        # The last message stays, and may be what is too long.
        messages = self.tokens if len(self.tokens) <= room else self._transcript.before_last()
        if len(messages) > room:
            return ''
        tokens = messages + request + opening
        for event in self._generate(
                tokens, model.format.sentence_grammar(length), length, cancellation):
            if isinstance(event, Prefilling):
                yield event
            elif isinstance(event, Completion):
                self._give_up(event, (*request, *opening))
                self._spent += TokenCounts(text=len(event.tokens))
                if event.stop is Stop.CANCELED:
                    return None
                text = self._text(event.tokens)
                return text.removesuffix(model.format.end_of_turn).strip()
        return ''

    def _finish(self, completion: Completion, opening: Tokens) -> CallMade | CallCanceled:
        seconds = time.monotonic() - self._told
        # A call that is forced whole is made without a decode: its messages wait for the next
        # batch. One that was canceled has evaluated a part of them.
        new = min(self._new, completion.prefill)
        counts = self._spent + TokenCounts(cached=completion.cached, prefill=completion.prefill,
                                           new=new, decode_calls=completion.decode_calls)
        self._spent = TokenCounts()
        self._lost = completion.lost or self._lost
        decode = completion.seconds - completion.first_token + self._decode_seconds
        self._note_first_token(completion)
        first_token, lost = self._first_token or 0.0, self._lost
        self._first_token, self._decode_seconds, self._lost = None, 0.0, ''
        if completion.stop is not Stop.COMPLETE:
            self._new = max(0, self._new - len(opening) - new)
            counts += all_generated(completion)
        if completion.stop is Stop.CANCELED:
            return CallCanceled(counts, seconds)
        if completion.stop is Stop.LENGTH:
            raise CallCutShort(
                f'a call did not end within call_tokens = {self._model.limits.call_tokens}.',
                counts, seconds)
        text = self._text(completion.tokens)
        before, call = self._read(text)
        self._transcript.append(Message(MessageKind.CALL, opening + completion.tokens))
        self._new = 0 if completion.decode_calls else self._new
        return CallMade(call, counts + self._generated(completion, call, before), first_token,
                        seconds, lost, decode, before.strip(),
                        among=self._model.forethought.chosen(before))

    def _read(self, text: str) -> tuple[str, ToolCall]:
        """Return what stands before the call in a complete turn, and the call."""
        before = forethought_of(text, self._model.format.frame)
        return before, self._model.format.parse(text[len(before):])

    def _generated(self, completion: Completion, call: ToolCall, before: str) -> TokenCounts:
        """Count what was generated before the call, and between its frame's ends."""
        model = self._model
        pieces = [model.engine.detokenize([token]) for token in completion.tokens]
        tool = next((t for t in model.tools if t.name == call.name), None)
        if tool is None:
            raise EngineError(f'the model called {call.name!r}, which the grammar does not know.')
        chosen = {name: {'const': call.arguments[name]} for name in tool.chosen}
        tool = replace(tool, parameters={
            'properties': {**tool.parameters['properties'], **chosen}})
        inside, in_text = free_text_tokens(pieces, model.format.frame, tool, call, before)
        origins = [origin for origin, kept in zip(completion.origins, inside) if kept]
        return TokenCounts(
            sampled=origins.count(SAMPLED), forced=origins.count(FORCED),
            accepted_draft=origins.count(ACCEPTED), draft=completion.guessed, text=sum(in_text))


def all_generated(completion: Completion) -> TokenCounts:
    """Count all that was generated, the frame of a call included."""
    return TokenCounts(sampled=completion.origins.count(SAMPLED),
                       forced=completion.origins.count(FORCED),
                       accepted_draft=completion.origins.count(ACCEPTED),
                       draft=completion.guessed)
