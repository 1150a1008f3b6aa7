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

"""
What quantized KV cells change: the calls of one model with each type, at several contexts.

The prompt is a log of a robot's day, with numbers to be found again in its middle; each call is a
session of its own behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
import itertools
import random
from typing import Any

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import CACHE_TYPES, EngineConfig
from edge_llm_ros.flow.model import CallMade
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_model import LocalModel

CONTEXTS = (1024, 4096, 8192)
CALLS = 200
_ROOM = 512  # tokens of a call and its instruction
_PLACES = ['kitchen', 'office', 'lab', 'workshop', 'lobby', 'storage', 'library', 'garage']
_COLOURS = ['red', 'green', 'blue', 'white', 'yellow']
_THINGS = ['cup', 'wrench', 'parcel', 'folder', 'lamp', 'bottle']
_VISITORS = ['Anna', 'Boris', 'Chen', 'Dana', 'Emil', 'Fatima', 'Goran', 'Hana', 'Ivo', 'Jana']
_SYSTEM = 'You control a service robot. Do what the person asks with exactly one call.\nLog:\n'


def _tool(name: str, description: str, **properties: dict[str, Any]) -> ToolSchema:
    return ToolSchema(name, description, {
        'type': 'object', 'properties': properties, 'required': list(properties)})


TOOLS = (
    _tool('drive_to', 'Drive to a place.', place={'type': 'string', 'enum': _PLACES}),
    _tool('set_lights', 'Light a place in a colour.', place={'type': 'string', 'enum': _PLACES},
          colour={'type': 'string', 'enum': _COLOURS}),
    _tool('turn', 'Turn on the spot.', degrees={'type': 'integer', 'minimum': -360,
                                                'maximum': 360}),
    _tool('fetch', 'Bring things.', thing={'type': 'string', 'enum': _THINGS},
          count={'type': 'integer', 'minimum': 1, 'maximum': 9}),
    _tool('say', 'Say something aloud.', text={'type': 'string', 'maxLength': 80}),
    _tool('report_badge', 'Report the badge number of a visitor, as the log has it.',
          number={'type': 'integer', 'minimum': 1000, 'maximum': 9999}))


@dataclass(frozen=True)
class Question:
    """
    An instruction.

    :param fact: the number that the answer must hold; 0 where there is none
    """

    instruction: str
    fact: int = 0


@dataclass(frozen=True)
class TypeResult:
    """
    What one type did at one context, beside f16.

    :param same: calls with the same tool and arguments as f16's
    :param facts: of the numbers asked for, found
    """

    type: str
    context: int
    calls: int
    same: int
    asked: int
    facts: int
    kv_bytes: int


def _badges() -> dict[str, int]:
    generator = random.Random(7)
    return {name: generator.randrange(1000, 10000) for name in _VISITORS}


def _log(count: Callable[[str], int], tokens: int) -> str:
    """Return a log of so many tokens, the visitors' badges around its middle."""
    generator = random.Random(3)
    badges = [f'{name} came to visit and wears badge {number}.'
              for name, number in _badges().items()]
    lines: list[str] = []
    size, hour = count('\n'.join(badges)), itertools.count()
    while size < tokens:
        lines.append(
            f'{next(hour):04d}: took the {generator.choice(_THINGS)} from the '
            f'{generator.choice(_PLACES)} to the {generator.choice(_PLACES)}, battery at '
            f'{generator.randrange(20, 100)} percent.')
        size += count(lines[-1] + '\n')
    middle = len(lines) // 2
    return '\n'.join([*lines[:middle], *badges, *lines[middle:]])


def questions(count: int) -> list[Question]:
    """Return instructions of every kind, always the same."""
    generator = random.Random(11)
    badges = _badges()
    asked: list[Question] = []
    for i in range(count):
        place, colour = generator.choice(_PLACES), generator.choice(_COLOURS)
        name = _VISITORS[i // 5 % len(_VISITORS)]
        asked.append([
            Question(f'Please go to the {place}.'),
            Question(f'Make the {place} {colour}.'),
            Question(f'Turn {generator.randrange(5, 350)} degrees to the left.'),
            Question(f'I need {generator.randrange(2, 9)} pieces of: '
                     f'{generator.choice(_THINGS)}.')
            if i % 2 else Question(f'Say aloud: "The {colour} door of the {place} is open."'),
            Question(f'Which badge number does {name} wear? Report it.', badges[name])][i % 5])
    return asked


def _calls(engine: LocalEngine, context: int, asked: list[Question]) -> Iterator[ToolCall]:
    def count(text: str) -> int:
        return len(engine.tokenize(text, False))

    def model_with(log: str) -> LocalModel:
        return LocalModel(engine, chat_format('auto', engine.info()), _SYSTEM + log, TOOLS, [],
                          GenerationLimits(call_tokens=96, text_length=80))

    model = model_with(_log(count, context - len(model_with('').prefix)))
    for _ in model.warm_up():
        pass
    for question in asked:
        conversation = model.conversation('')
        conversation.instruct(question.instruction, '')
        for event in conversation.next_call(None, Cancellation()):
            if isinstance(event, CallMade):
                yield event.call
        conversation.end('')


def compare_types(model_path: str, contexts: tuple[int, ...] = CONTEXTS, calls: int = CALLS,
                  tell: Callable[[str], None] = lambda line: None) -> list[dict[str, Any]]:
    """
    Let a model make the same calls with each type of KV cells.

    :returns: a row for each type and context
    """
    asked = questions(calls)
    rows = []
    for context in contexts:
        reference: list[ToolCall] = []
        for name in CACHE_TYPES:
            engine = LocalEngine(EngineConfig(
                model_path=model_path, context_tokens=context + _ROOM, max_sessions=2,
                cache_type_k=name, cache_type_v=name))
            made = list(_calls(engine, context, asked))
            reference = reference or made
            facts = [(q.fact, call) for q, call in zip(asked, made) if q.fact]
            result = TypeResult(
                name, context, len(made), sum(a == b for a, b in zip(made, reference)),
                len(facts), sum(call.arguments.get('number') == fact for fact, call in facts),
                engine.info().kv_bytes)
            engine.close()
            rows.append(asdict(result))
            tell(f'{name} at {context}: {result.same} of {result.calls} calls as with f16, '
                 f'{result.facts} of {result.asked} facts found, '
                 f'{result.kv_bytes / 1e6:.1f} MB')
    return rows
