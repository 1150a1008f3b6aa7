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

"""Two files of one model: transcripts of reference solutions, and where calls differ."""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path

from edge_llm_ros.cli import quantize as quantize_verb
from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.eval.eval_setup import eval_setup, EvalSetup
from edge_llm_ros.eval.mission import all_cases, Case
from edge_llm_ros.eval.model_check import (
    ARGUMENTS, check_one_vocabulary, CUT, difference, FREE_TEXT, SAME, TOOL, VALUES)
from edge_llm_ros.eval.model_check_run import check_models
from edge_llm_ros.eval.selection import Selection
from edge_llm_ros.eval.transcript import context_for, Reading, readings
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import FINISH, ToolCall, ToolSchema
from edge_llm_ros.prompt.formats import chat_format
from gguf_rename import copy_with
import pytest
from tiny_models import write_tiny_model

CONFIG = Path(__file__).resolve().parent.parent / 'config'
FEW = Selection('tuning', missions='five_*', worlds=1, limit=2)


def _setup(model: str) -> EvalSetup:
    return eval_setup(model, CONFIG / 'prompt.yaml', CONFIG / 'simulated_robot.yaml', {}, {}, '')


def _read(model: str, selection: Selection) -> tuple[list[Case], list[Reading], ModelVocabulary]:
    setup, vocabulary = _setup(model), ModelVocabulary(model)
    cases = selection.of(list(all_cases(setup.sets.places)))
    found = readings(vocabulary, chat_format('auto', vocabulary.info()), setup, cases)
    return cases, found, vocabulary


def test_a_transcript_has_goals_calls_and_what_came_of_them(test_model: str) -> None:
    selection = Selection('tuning', kinds=('follow_up', 'tool_fault'), worlds=1, limit=12)
    cases, found, vocabulary = _read(test_model, selection)
    by_key = {case.key: case for case in cases}
    format_ = chat_format('auto', vocabulary.info())
    seen = 0
    for reading in found:
        assert vocabulary.detokenize(reading.prefix).count(b'<tool_call>') > len(reading.schemas)
        for transcript in reading.transcripts:
            case = by_key[transcript.case]
            calls = [written for goal in case.goals for written in goal.solution]
            assert len(transcript.moments) == len(calls)
            text = vocabulary.detokenize(transcript.tokens).decode()
            assert all(goal.text in text for goal in case.goals)
            told = sum(moment.call.name != FINISH for moment in transcript.moments)
            assert text.count('<tool_response>') == told
            ends = [*(m.length for m in transcript.moments[1:]), len(transcript.tokens)]
            for moment, end in zip(transcript.moments, ends):
                call = vocabulary.detokenize(transcript.tokens[moment.length:end]).decode()
                assert format_.parse(call.split(format_.frame[1])[0]) == moment.call
            seen += '"error"' in text
    # Calls that fail on the way fail here, too.
    assert seen >= 3
    longest = max(len(p) + len(t) for reading in found for p, t in reading.conversations())
    assert 0 <= context_for(found, 8) - longest - 8 < 256


@pytest.mark.parametrize('first, second, kind', [
    (ToolCall('go', {'to': 'lab', 'note': 'a'}), ToolCall('go', {'to': 'lab', 'note': 'a'}), SAME),
    (ToolCall('go', {'to': 'lab', 'note': 'a'}), ToolCall('go', {'to': 'lab', 'note': 'b'}),
     FREE_TEXT),
    (ToolCall('go', {'to': 'lab', 'note': 'a'}), ToolCall('go', {'to': 'gym', 'note': 'b'}),
     VALUES),
    (ToolCall('go', {'to': 'lab', 'note': 'a'}), ToolCall('go', {'to': 'lab'}), ARGUMENTS),
    (ToolCall('go', {'to': 'lab'}), ToolCall('stop', {}), TOOL),
    (ToolCall('go', {'to': 'lab'}), None, CUT)])
def test_calls_differ_in_one_way(first: ToolCall, second: ToolCall | None, kind: str) -> None:
    schema = ToolSchema('go', '', {'type': 'object', 'properties': {
        'to': {'type': 'string', 'enum': ['lab', 'gym']}, 'note': {'type': 'string'}}})
    assert difference(first, second, [schema]) == kind


def test_files_of_two_models_are_refused(test_model: str, tiny_model: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'has \d+ tokens and .* has \d+, so they are not two'):
        check_one_vocabulary(test_model, tiny_model)
    renamed = str(tmp_path / 'renamed.gguf')
    copy_with(tiny_model, renamed, {'<|im_end|>': '<|end|>'}, '')
    with pytest.raises(ConfigError, match=r"token 258 is b'<\|im_end\|>' in .* b'<\|end\|>' in"):
        check_one_vocabulary(tiny_model, renamed)
    check_one_vocabulary(tiny_model, tiny_model)


def _check(paths: Sequence[str], out: Path) -> dict[str, int]:
    args = argparse.Namespace(models=list(paths), threads=1, out=out)
    assert check_models(args, _setup(paths[0]), FEW) == 0
    report = json.loads((out / 'models.json').read_text())
    assert sum(report['counts'].values()) == len(report['moments']) > 3
    values = [p['value'] for p in report['perplexity']]
    assert (values[0] == values[1]) == (paths[0] == paths[1])
    return report['counts']


def test_a_file_differs_from_another_one_and_not_from_itself(
        tiny_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = _check([tiny_model, tiny_model], tmp_path / 'same')
    assert counts[SAME] == sum(counts.values())
    other = tmp_path / 'other.gguf'
    write_tiny_model(other, 'full', seed=5)
    counts = _check([tiny_model, str(other)], tmp_path / 'other')
    assert counts[SAME] < sum(counts.values())
    said = capsys.readouterr().out
    assert 'other.gguf: perplexity' in said and '[reference: ' in said


def test_the_command_calibrates_with_tool_calls(
        tiny_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    quantize_verb.add_arguments(parser)
    plain, weighted = tmp_path / 'plain.gguf', tmp_path / 'weighted.gguf'
    more = ['--type', 'Q4_0', '--threads', '1']
    assert quantize_verb.run(parser.parse_args([tiny_model, str(plain), *more])) == 0
    assert quantize_verb.run(parser.parse_args([str(plain), str(weighted), *more])) == 2
    assert '--requantize' in capsys.readouterr().err and not weighted.exists()
    assert quantize_verb.run(parser.parse_args(
        [tiny_model, str(weighted), *more, '--calibrate', '--cases', '2'])) == 0
    said = capsys.readouterr().out
    assert 'calibrated 14 weights with ' in said and 'with calibration' in said
    assert plain.stat().st_size == weighted.stat().st_size
    assert plain.read_bytes() != weighted.read_bytes()
