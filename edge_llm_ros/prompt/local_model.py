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

"""A model on this robot: a chat format, an engine, and the conversations between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import itertools
import time

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import (
    Completion, Engine, FORCED, GenerateRequest, PrefillProgress, SAMPLED, Sampling, Stop)
from edge_llm_ros.flow.errors import CallCutShort, ConfigError, EngineError
from edge_llm_ros.flow.metrics import TokenCounts
from edge_llm_ros.flow.model import CallCanceled, CallMade, Prefilling, Writing
from edge_llm_ros.flow.tool import Observation, ToolCall, ToolSchema
from edge_llm_ros.prompt.call_text import free_text_tokens, without_frame
from edge_llm_ros.prompt.chat_format import ChatFormat, Example
from edge_llm_ros.prompt.pieces import Piece, PieceTokenizer


# Of this process: an id that was canceled once is never used again.
_requests = itertools.count(1)
_SMALLEST_GOAL = 64  # tokens of an instruction and its frames


@dataclass(frozen=True)
class GenerationLimits:
    """
    What a call may be.

    :param call_tokens: generated tokens of a call at most
    :param text_length: characters of a free text at most
    """

    call_tokens: int = 256
    text_length: int = 160
    sampling: Sampling = field(default_factory=Sampling)


class LocalModel:
    """
    Keeps the prefix and every conversation as tokens that only grow.

    :param engine: evaluates tokens
    :param chat_format: frames of messages and shape of a call
    :param system: what the model is told first
    :param tools: in the order of the prompt
    :param examples: static examples
    :param kept: conversations with a session id that are remembered
    """

    def __init__(self, engine: Engine, chat_format: ChatFormat, system: str,
                 tools: Sequence[ToolSchema], examples: Sequence[Example],
                 limits: GenerationLimits, kept: int = 32) -> None:
        self.engine = engine
        self.format = chat_format
        self.tools = tuple(tools)
        self.limits = limits
        self._pieces = PieceTokenizer(engine, engine.info().special_tokens)
        self.prefix = self.tokens(chat_format.prefix(system, tools, examples))
        self._conversations: OrderedDict[str, LocalConversation] = OrderedDict()
        self._kept = kept
        self._names = itertools.count(1)
        self.grammar(None)
        needed = len(self.prefix) + limits.call_tokens + _SMALLEST_GOAL
        if needed > engine.info().context_tokens:
            raise ConfigError(
                f'context_tokens: {engine.info().context_tokens} are too few: the prefix has '
                f'{len(self.prefix)} tokens and a call up to {limits.call_tokens} (call_tokens), '
                'so '
                f'at least {needed} are needed.')

    def tokens(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """Return the tokens of pieces."""
        return self._pieces.tokens(pieces)

    def grammar(self, allowed: frozenset[str] | None) -> str:
        """Return the grammar of a call of the allowed tools, compiled by the engine."""
        tools = [t for t in self.tools if allowed is None or t.name in allowed]
        grammar = self.format.grammar(tools, self.limits.text_length)
        self.engine.check_grammar(grammar)
        return grammar

    def warm_up(self) -> Iterator[Prefilling]:
        """Evaluate the prefix and pin it."""
        for progress in self.engine.warm_up(self.prefix):
            yield Prefilling(progress.evaluated, progress.total, progress.restored)

    def conversation(self, session_id: str) -> LocalConversation:
        """Return the conversation of a session; a new one for an unknown or empty id."""
        conversation = self._conversations.pop(session_id, None) if session_id else None
        if conversation is None:
            # An id of our own cannot be one that a client chose.
            name = f'session {session_id}' if session_id else f'goal {next(self._names)}'
            conversation = LocalConversation(self, name, bool(session_id))
        if session_id:
            self._conversations[session_id] = conversation
            while len(self._conversations) > self._kept:
                self.engine.release(self._conversations.popitem(last=False)[1].name)
        return conversation


class LocalConversation:
    """
    One conversation: the prefix, then messages and calls, as tokens.

    :param name: of the sequence in the engine
    :param lasting: whether it has a session id
    """

    def __init__(self, model: LocalModel, name: str, lasting: bool) -> None:
        self._model = model
        self.name = name
        self.lasting = lasting
        self._tokens: tuple[int, ...] = model.prefix
        self._new = 0
        self._note = ''
        self._told = time.monotonic()

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return the conversation so far."""
        return self._tokens

    def _append(self, pieces: Sequence[Piece]) -> None:
        self._told = time.monotonic()
        tokens = self._model.tokens(pieces)
        self._tokens += tokens
        self._new += len(tokens)

    def instruct(self, instruction: str, context: str) -> None:
        """Append what a person asks for, and live facts."""
        text = '\n\n'.join(filter(None, (self._note, context.strip(), instruction.strip())))
        self._note = ''
        first = len(self._tokens) == len(self._model.prefix)
        self._append(self._model.format.instruction(text, first))

    def observe(self, call: ToolCall, observation: Observation) -> None:
        """Append what came of a call."""
        self._append(self._model.format.observation(call, observation.text))

    def end(self, note: str) -> None:
        """Say that the goal is over; a conversation without a session id is forgotten."""
        self._note = note
        if not self.lasting:
            self._model.engine.release(self.name)

    def next_call(self, allowed: frozenset[str] | None, cancellation: Cancellation
                  ) -> Iterator[Prefilling | Writing | CallMade | CallCanceled]:
        """Let the model make its next call."""
        model, limits = self._model, self._model.limits
        opening = model.tokens(model.format.call_prompt())
        request = GenerateRequest(
            id=f'call {next(_requests)}', session=self.name,
            tokens=self._tokens + opening, grammar=model.grammar(allowed),
            max_tokens=limits.call_tokens, sampling=limits.sampling)
        withdraw = cancellation.on_cancel(lambda: model.engine.cancel(request.id))
        try:
            written: list[int] = []
            for event in model.engine.generate(request):
                if isinstance(event, Completion):
                    yield self._finish(event, opening)
                elif isinstance(event, PrefillProgress):
                    yield Prefilling(event.evaluated, event.total)
                else:
                    written += event.tokens
                    text = model.engine.detokenize(written).decode('utf-8', 'replace')
                    yield Writing(without_frame(text, model.format.frame))
                cancellation.check_deadline()
        finally:
            withdraw()

    def _finish(self, completion: Completion, opening: tuple[int, ...]) -> CallMade | CallCanceled:
        seconds = time.monotonic() - self._told
        # A call that is forced whole is made without a decode: its messages wait for the next
        # batch. One that was canceled has evaluated a part of them.
        new = min(self._new + len(opening), completion.prefill)
        counts = TokenCounts(cached=completion.cached, prefill=completion.prefill, new=new,
                             decode_calls=completion.decode_calls)
        if completion.stop is not Stop.COMPLETE:
            self._new = max(0, self._new - new)
            counts += _all_generated(completion)
        if completion.stop is Stop.CANCELED:
            return CallCanceled(counts, seconds)
        if completion.stop is Stop.LENGTH:
            raise CallCutShort(
                f'a call did not end within call_tokens = {self._model.limits.call_tokens}.',
                counts, seconds)
        text = self._model.engine.detokenize(completion.tokens).decode('utf-8', 'replace')
        call = self._model.format.parse(text)
        self._tokens += opening + completion.tokens
        self._new = 0 if completion.decode_calls else self._new + len(opening)
        first_token = seconds - (completion.seconds - completion.first_token)
        return CallMade(call, counts + self._generated(completion, call), first_token, seconds)

    def _generated(self, completion: Completion, call: ToolCall) -> TokenCounts:
        """Count what was generated between the frame's opening and closing."""
        model = self._model
        pieces = [model.engine.detokenize([token]) for token in completion.tokens]
        tool = next((t for t in model.tools if t.name == call.name), None)
        if tool is None:
            raise EngineError(f'the model called {call.name!r}, which the grammar does not know.')
        inside, in_text = free_text_tokens(pieces, model.format.frame, tool, call)
        origins = [origin for origin, kept in zip(completion.origins, inside) if kept]
        return TokenCounts(
            sampled=origins.count(SAMPLED), forced=origins.count(FORCED), text=sum(in_text))


def _all_generated(completion: Completion) -> TokenCounts:
    """Count what was generated of a call that was not kept, its frame included."""
    return TokenCounts(sampled=completion.origins.count(SAMPLED),
                       forced=completion.origins.count(FORCED))
