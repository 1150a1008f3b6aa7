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
from collections.abc import Callable, Iterator, Sequence
import itertools

from edge_llm_ros.flow.engine import Engine
from edge_llm_ros.flow.errors import ConfigError, EngineError
from edge_llm_ros.flow.forethought import ForethoughtSettings, Occasion
from edge_llm_ros.flow.model import Prefilling
from edge_llm_ros.flow.tool import Choices, NO_CHOICES, ToolSchema
from edge_llm_ros.prompt.call_grammar import with_choices
from edge_llm_ros.prompt.chat_format import ChatFormat, Example
from edge_llm_ros.prompt.forethought import Forethought
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.goal_reminder import GoalReminder
from edge_llm_ros.prompt.local_conversation import LocalConversation
from edge_llm_ros.prompt.pieces import Piece, PieceTokenizer
from edge_llm_ros.prompt.words import Words

_REASON = 200  # characters of what llguidance says
_SMALLEST_GOAL = 64  # tokens of an instruction and its frames


class LocalModel:
    """
    Keeps the prefix and every conversation as tokens that only grow.

    :param engine: evaluates tokens
    :param chat_format: frames of messages and shape of a call
    :param system: what the model is told first
    :param tools: in the order of the prompt
    :param examples: static examples
    :param kept: conversations with a session id that are remembered
    :param forethought: what the model writes before its calls; nothing where left out
    :param reminder: what follows each result; nothing where left out
    """

    def __init__(self, engine: Engine, chat_format: ChatFormat, system: str,
                 tools: Sequence[ToolSchema], examples: Sequence[Example],
                 limits: GenerationLimits, kept: int = 32,
                 forethought: Forethought | None = None,
                 reminder: GoalReminder | None = None) -> None:
        self.engine = engine
        self.format = chat_format
        self.tools = tuple(tools)
        self.limits = limits
        self.log_prompts = False
        self._pieces = PieceTokenizer(engine, engine.info().special_tokens)
        self.forethought = forethought or Forethought(
            ForethoughtSettings(), Words(), engine.info())
        self.reminder = reminder
        if reminder is not None:
            examples = [reminder.shown(example) for example in examples]
        self.prefix = self.tokens(chat_format.prefix(
            system.rstrip('\n') + self.forethought.explained() if forethought else system, tools,
            [self.forethought.shown(example) for example in examples]))
        self._conversations: OrderedDict[str, LocalConversation] = OrderedDict()
        self._kept = kept
        self._names = itertools.count(1)
        needed = len(self.prefix) + self.turn_tokens + _SMALLEST_GOAL
        needed += limits.summary_length + _SMALLEST_GOAL if limits.summary_length else 0
        if needed > engine.info().context_tokens:
            raise ConfigError(
                f'context_tokens: {engine.info().context_tokens} are too few: the prefix has '
                f'{len(self.prefix)} tokens and a call up to {self.turn_tokens} (call_tokens, and '
                f'what is written before it), so at least {needed} are needed.')
        # Only now: what fits into the context is no monster to compile.
        self._check_grammar()

    def _check_grammar(self) -> None:
        """Compile the grammar of all tools; ConfigError that names the tool it fails for."""
        choices = {tool.name: dict.fromkeys(tool.chosen, ('value',)) for tool in self.tools}
        try:
            self.grammar(None, self.limits.text_length, choices)
        except EngineError as error:
            whole = str(error).splitlines()[0]
        else:
            return
        for tool in self.tools:
            try:
                self.grammar(frozenset({tool.name}), self.limits.text_length, choices)
            except EngineError as error:
                reason = str(error).splitlines()[0][:_REASON]
                raise ConfigError(f'tools.{tool.name}: its arguments are too much for a grammar '
                                  f'({reason}). Narrow them.') from None
        raise ConfigError(f'tools: all tools together are too much for a grammar '
                          f'({whole[:_REASON]}). Give fewer tools, or narrower arguments.')

    @property
    def turn_tokens(self) -> int:
        """Return the tokens that the model can write in a turn at most."""
        return self.limits.call_tokens + self.forethought.tokens(self.limits.reasoning_tokens)

    def tokens(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """Return the tokens of pieces."""
        return self._pieces.tokens(pieces)

    def grammar(self, allowed: frozenset[str] | None, text_length: int,
                choices: Choices = NO_CHOICES, occasion: Occasion = Occasion.FIRST) -> str:
        """
        Return the grammar of a turn with a call of the allowed tools, compiled by the engine.

        :param text_length: characters of a free text at most
        :param choices: values of the arguments that are chosen anew for each goal
        :raises EngineError: if there is no such tool
        """
        tools = with_choices(
            [t for t in self.tools if allowed is None or t.name in allowed], choices)
        if not tools:
            raise EngineError('there is no tool that the model could call.')
        branches, rules = self.forethought.branches(
            tools, occasion, self.limits.reasoning_tokens)
        grammar = self.format.turn_grammar(branches, rules, text_length)
        self.engine.check_grammar(grammar)
        return grammar

    def warm_up(self) -> Iterator[Prefilling]:
        """Evaluate the prefix and pin it."""
        for progress in self.engine.warm_up(self.prefix):
            yield Prefilling(progress.evaluated, progress.total, progress.restored)

    def on_failure(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Have a callback told why the model failed, also while nobody waits for it."""
        return self.engine.on_end(callback)

    def conversation(self, session_id: str) -> LocalConversation:
        """Return the conversation of a session; a new one for an unknown or empty id."""
        conversation = self._conversations.pop(session_id, None) if session_id else None
        if conversation is None:
            # An id of our own cannot be one that a client chose.
            name = f'session {session_id}' if session_id else f'goal {next(self._names)}'
            conversation = self._begin(name, bool(session_id))
        if session_id:
            self._conversations[session_id] = conversation
            while len(self._conversations) > self._kept:
                self.engine.release(self._conversations.popitem(last=False)[1].name)
        return conversation

    def _begin(self, name: str, lasting: bool) -> LocalConversation:
        """Return a new conversation."""
        return LocalConversation(self, name, lasting)
