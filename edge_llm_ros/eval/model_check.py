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

"""Whether two files of one model make the same calls, so that a smaller one can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
import json
from pathlib import Path
from typing import Any

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.engine.reading import Perplexity, perplexity
from edge_llm_ros.eval.scores import share
from edge_llm_ros.eval.transcript import Reading
from edge_llm_ros.flow.engine import Completion, EngineConfig, GenerateRequest, Sampling, Stop
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_grammar import is_free_text
from edge_llm_ros.prompt.chat_format import ChatFormat
from edge_llm_ros.prompt.generation_limits import GenerationLimits

SAME, FREE_TEXT = 'the same call', 'other words in a free text'
VALUES, ARGUMENTS, TOOL = 'other values', 'other argument names', 'another tool'
CUT = 'no whole call'
DIFFERENCES = (SAME, FREE_TEXT, VALUES, ARGUMENTS, TOOL, CUT)


@dataclass(frozen=True)
class Pair:
    """
    What two models call at one moment of a transcript; None for no whole call.

    :param reference: of the transcript
    :param right: whether they are the reference's, free texts aside
    """

    case: str
    step: int
    reference: ToolCall
    calls: tuple[ToolCall | None, ToolCall | None]
    difference: str
    right: tuple[bool, bool]


def check_one_vocabulary(first: str, second: str) -> None:
    """
    Refuse two files that are not of one model, as far as their tokens say.

    :raises ConfigError: naming the first token that differs
    """
    pieces = []
    for path in (first, second):
        vocabulary = ModelVocabulary(path)
        size = vocabulary.info().vocabulary
        pieces.append([vocabulary.detokenize([token]) for token in range(size)])
        vocabulary.close()
    if len(pieces[0]) != len(pieces[1]):
        raise ConfigError(
            f'--models: {first} has {len(pieces[0])} tokens and {second} has {len(pieces[1])}, so '
            'they are not two files of one model.')
    for token, (one, other) in enumerate(zip(*pieces)):
        if one != other:
            raise ConfigError(
                f'--models: token {token} is {one!r} in {first} and {other!r} in {second}, so '
                'they are not two files of one model.')


def calls_of(config: EngineConfig, chat_format: ChatFormat, readings: Sequence[Reading],
             limits: GenerationLimits) -> Iterator[ToolCall | None]:
    """Yield what a model calls at each moment of all transcripts, under the planner's grammar."""
    engine = LocalEngine(config)
    try:
        for reading in readings:
            for _ in engine.warm_up(reading.prefix):
                pass
            grammar = chat_format.grammar(reading.schemas, limits.text_length)
            for transcript in reading.transcripts:
                for number, moment in enumerate(transcript.moments):
                    tokens = reading.prefix + transcript.tokens[:moment.length]
                    yield _call(engine, chat_format, GenerateRequest(
                        f'{transcript.case} {number}', transcript.case, tokens, grammar,
                        limits.call_tokens, Sampling(temperature=0.0)))
                engine.release(transcript.case)
    finally:
        engine.close()


def _call(engine: LocalEngine, chat_format: ChatFormat, request: GenerateRequest
          ) -> ToolCall | None:
    *_, last = engine.generate(request)
    assert isinstance(last, Completion)
    if last.stop is not Stop.COMPLETE:
        return None
    return chat_format.parse(engine.detokenize(last.tokens).decode())


def difference(first: ToolCall | None, second: ToolCall | None, schemas: Sequence[ToolSchema]
               ) -> str:
    """Return in what two calls differ first."""
    if first is None or second is None:
        return CUT
    if first.name != second.name:
        return TOOL
    if first.arguments.keys() != second.arguments.keys():
        return ARGUMENTS
    properties = next(s for s in schemas if s.name == first.name).parameters['properties']
    other = [name for name, value in first.arguments.items() if second.arguments[name] != value]
    if any(not is_free_text(properties[name]) for name in other):
        return VALUES
    return FREE_TEXT if other else SAME


def compare_models(configs: Sequence[EngineConfig], chat_format: ChatFormat,
                   readings: Sequence[Reading], limits: GenerationLimits
                   ) -> tuple[list[Pair], list[Perplexity]]:
    """Return what two models call at each moment, and how surprised they are by the rest."""
    first, second = (list(calls_of(config, chat_format, readings, limits)) for config in configs)
    both = iter(zip(first, second))
    pairs = []
    for reading in readings:
        for transcript in reading.transcripts:
            for number, moment in enumerate(transcript.moments, 1):
                a, b = next(both)
                right = [difference(call, moment.call, reading.schemas) in (SAME, FREE_TEXT)
                         for call in (a, b)]
                pairs.append(Pair(transcript.case, number, moment.call, (a, b),
                                  difference(a, b, reading.schemas), (right[0], right[1])))
    texts = [text for reading in readings for text in reading.conversations()]
    return pairs, [perplexity(config, texts) for config in configs]


def summary(names: Sequence[str], pairs: Sequence[Pair], surprises: Sequence[Perplexity]
            ) -> list[str]:
    """Return lines for a person: counts, perplexities, and where the calls differ."""
    lines = [f'{len(pairs)} moments at which something has to be called']
    for kind in DIFFERENCES:
        count = sum(pair.difference == kind for pair in pairs)
        lines.append(f'{kind}: {share(kind, count, len(pairs))}')
    for number, (name, surprise) in enumerate(zip(names, surprises)):
        right = sum(pair.right[number] for pair in pairs)
        lines.append(f'{name}: perplexity {surprise.value:.4g} of {surprise.tokens} tokens; '
                     f'{right} calls are those of the reference solution, free texts aside')
    for pair in pairs:
        if pair.difference not in (SAME, FREE_TEXT):
            lines.append(f'{pair.case}, call {pair.step}: {pair.difference}: ' + ' | '.join(
                map(_written, pair.calls)) + f'   [reference: {_written(pair.reference)}]')
    return lines


def _written(call: ToolCall | None) -> str:
    if call is None:
        return 'nothing'
    return f'{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}'


def write_check(folder: Path, facts: dict[str, Any], pairs: Sequence[Pair],
                surprises: Sequence[Perplexity]) -> Path:
    """Write models.json; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / 'models.json'
    path.write_text(json.dumps({
        'meta': facts, 'perplexity': [asdict(s) for s in surprises],
        'counts': {k: sum(p.difference == k for p in pairs) for k in DIFFERENCES},
        'moments': [asdict(pair) for pair in pairs]}, indent=1, ensure_ascii=False) + '\n',
        encoding='utf-8')
    return path
