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

"""Reference solutions of missions as conversations of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.engine.reading import Conversation, Tokens
from edge_llm_ros.eval.eval_setup import EvalSetup
from edge_llm_ros.eval.instant_robot import InstantRobot
from edge_llm_ros.eval.instant_tools import instant_toolset
from edge_llm_ros.eval.mission import Case
from edge_llm_ros.eval.rehearsal import SPEED
from edge_llm_ros.eval.robot_tools import robot_tools, RobotTools
from edge_llm_ros.eval.written_call import read_call
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import ModelInfo, Tokenizer
from edge_llm_ros.flow.tool import FINISH, ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import ChatFormat
from edge_llm_ros.prompt.pieces import Piece, PieceTokenizer
from edge_llm_ros.sim.world import World


@dataclass(frozen=True)
class Moment:
    """
    A moment at which the model has to call something.

    :param length: tokens of the conversation that come before the call
    :param call: of the reference solution
    """

    length: int
    call: ToolCall


@dataclass(frozen=True)
class Transcript:
    """
    The conversation of a case, after the prefix of its tools.

    :param case: its key
    """

    case: str
    tokens: Tokens
    moments: tuple[Moment, ...]


class TranscriptWriter:
    """
    Writes transcripts for the vocabulary and the chat format of a model.

    :param tools: of all cases that it writes
    """

    def __init__(self, tokenizer: Tokenizer, info: ModelInfo, chat_format: ChatFormat,
                 tools: RobotTools) -> None:
        self._pieces = PieceTokenizer(tokenizer, info.special_tokens)
        self._format = chat_format
        self._tools = tools
        self.prefix = self._pieces.tokens(chat_format.prefix(
            tools.prompt.system, tools.schemas, tools.examples))

    def write(self, case: Case) -> Transcript:
        """Make the calls of a case's reference solutions in its world, and write all that down."""
        toolset = instant_toolset(
            self._tools.loaded, InstantRobot(World(speed=SPEED, scene=case.scene)))
        tokens: Tokens = ()
        moments: list[Moment] = []
        for goal in case.goals:
            text = '\n\n'.join(filter(None, (goal.context.strip(), goal.text.strip())))
            tokens += self._pieces.tokens(self._format.instruction(text, not tokens))
            for written in goal.solution:
                call = self._in_order(read_call(written, self._tools.loaded.tools))
                tokens += self._pieces.tokens(self._format.call_prompt())
                moments.append(Moment(len(tokens), call))
                pieces: Sequence[Piece] = self._format.call(call)
                tokens += self._pieces.tokens(pieces)
                if call.name != FINISH:
                    told = toolset.call(call, Cancellation(), allowed=None, dry_run=False,
                                        on_progress=lambda line: None)
                    tokens += self._pieces.tokens(self._format.observation(call, told.text))
        return Transcript(case.key, tokens, tuple(moments))

    def _in_order(self, call: ToolCall) -> ToolCall:
        """Return a call with its arguments in the order of its tool, as the grammar has them."""
        order = list(next(s for s in self._tools.schemas if s.name == call.name)
                     .parameters['properties'])
        return ToolCall(call.name, dict(sorted(
            call.arguments.items(), key=lambda item: order.index(item[0]))))


@dataclass(frozen=True)
class Reading:
    """
    What a model reads with one set of tools.

    :param schemas: of the tools
    :param prefix: that all transcripts follow
    """

    schemas: tuple[ToolSchema, ...]
    prefix: Tokens
    transcripts: tuple[Transcript, ...]

    def conversations(self) -> list[Conversation]:
        """Return prefix and rest of each transcript."""
        return [(self.prefix, transcript.tokens) for transcript in self.transcripts]


def readings(model: ModelVocabulary, chat_format: ChatFormat, setup: EvalSetup,
             cases: Sequence[Case]) -> list[Reading]:
    """Return cases as a model reads them, those with the same tools together."""
    found = []
    for name in dict.fromkeys(case.tools for case in cases):
        tools = robot_tools(setup, name)
        writer = TranscriptWriter(model, model.info(), chat_format, tools)
        found.append(Reading(tools.schemas, writer.prefix, tuple(
            writer.write(case) for case in cases if case.tools == name)))
    return found


def context_for(found: Sequence[Reading], room: int) -> int:
    """
    Return how many tokens of context the longest of them needs.

    :param room: for what is generated
    """
    longest = max(len(prefix) + len(tokens) for reading in found
                  for prefix, tokens in reading.conversations())
    # The prefix is in a sequence of its own, whose cells are shared.
    return -(-(longest + room) // 256) * 256
