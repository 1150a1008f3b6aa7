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

"""Runs arms side by side on scripted workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import json
from typing import Any

from edge_llm_ros.bench.arm import Arm, StepResult
from edge_llm_ros.bench.own_arm import OwnArm
from edge_llm_ros.bench.peers.llama_server import LlamaServerArm
from edge_llm_ros.bench.row import Row, row
from edge_llm_ros.bench.script import Script, ScriptStep, tools
from edge_llm_ros.bench.workload import Workload, workloads
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.platform.energy import EnergyMeter

OURS = 'ours'
IN_PROCESS = 'ours_in_process'
OWN: Mapping[str, dict[str, Any]] = {
    OURS: {}, IN_PROCESS: {}, 'ours_nocache': {'reuse': False},
    'ours_noforced': {'force': False, 'guess': False},
    'ours_noguess': {'guess': False},
    'baseline': {'reuse': False, 'force': False, 'guess': False}}
PEERS = ('llama_cpp_python', 'llama_server')
_ONCE = ('ours_nocache', 'baseline')  # slow, and what they show is large
# Where an arm shows what it is for. On the others it costs minutes, and is run with everything.
_SHOWN_ON: Mapping[str, Sequence[str]] = {
    IN_PROCESS: ('four_turn', 'missions'), 'ours_noforced': ('missions',),
    'ours_nocache': ('ten_turn',), 'baseline': ('four_turn',)}


@dataclass(frozen=True)
class StepRecord:
    """
    A step of an arm.

    :param same: whether it made the call of the file
    :param joule: of the whole machine meanwhile; NaN where that is unknown
    :param peak_memory_bytes: of the arm until then; 0 where unknown
    """

    workload: str
    arm: str
    repeat: int
    index: int
    new: int
    same: bool
    call: ToolCall
    result: StepResult
    joule: float
    peak_memory_bytes: int


def make_arm(name: str, config: EngineConfig, baseline_path: str, synthetic: bool) -> Arm:
    """
    Return an arm.

    :param baseline_path: the model of the baseline, in F16 where there is such a file
    :raises EdgeLlmError: if what it needs is missing
    """
    if name in OWN:
        path = baseline_path if name == 'baseline' else config.model_path
        return OwnArm(name, replace(config, model_path=path, **OWN[name]), synthetic,
                      in_process=name == IN_PROCESS)
    if name == 'llama_server':
        return LlamaServerArm(config)
    from edge_llm_ros.bench.peers.llama_cpp_python import LlamaCppPythonArm
    return LlamaCppPythonArm(config)


def chosen(names: Sequence[str], scale: float) -> list[Workload]:
    """Return scripted workloads by name, those with filled texts at a scale."""
    found = {w.name: w for w in workloads() if w.scripted}
    return [found[name].scaled(scale) if any(t.tokens > 1 for t in found[name].turns)
            else found[name] for name in names]


def shown_on(arm: str, workload: str) -> bool:
    """Say whether an arm runs on a workload where not everything is asked for."""
    return workload in _SHOWN_ON.get(arm, (workload,))


def run_arms(arms: Sequence[Arm], script: Script, workload: Workload, repeats: int, *, warm: bool,
             everything: bool, tell: Callable[[str], None]) -> Iterator[StepRecord]:
    """
    Run arms on a workload, interleaved.

    :param warm: whether they have run before; else a first round is dropped where there is more
    :param everything: the slow arms in each round, too
    """
    rounds = range(0 if repeats > 1 and not warm else 1, repeats + 1)
    meter = EnergyMeter()
    for repeat in rounds:
        # Texts of its own: nothing may be found that an earlier round left behind.
        steps = list(script.steps(workload, repeat))
        for arm in arms:
            if arm.name in _ONCE and repeat != 1 and not everything:
                continue
            arm.begin(workload, script, repeat)
            records = []
            for index, step in enumerate(steps):
                named = replace(step, session=f'{step.session} {repeat}')
                before = meter.joule()
                result = arm.run(named)
                records.append(StepRecord(
                    workload.name, arm.name, repeat, index, step.new,
                    _same(result.text, step, script), step.call, result,
                    meter.joule() - before, arm.peak_memory_bytes()))
            seconds = sum(record.result.seconds for record in records)
            same = sum(record.same for record in records)
            tell(f'{workload.name} {repeat}/{repeats}, {arm.name}: {seconds:.2f} s, '
                 f'{same} of {len(records)} calls as in the file')
            if repeat:
                yield from records


def _same(text: str, step: ScriptStep, script: Script) -> bool:
    """Say whether a generation is the file's call; ours has the frame, a peer's has not."""
    try:
        if text.startswith(script.format.frame[0]):
            return script.format.parse(text) == step.call
        value = json.loads(text)
        return bool(value == {'name': step.call.name, 'arguments': dict(step.call.arguments)})
    except (EdgeLlmError, ValueError):
        return False


def rows(records: Sequence[StepRecord]) -> list[Row]:
    """Return the figures: times over the steps on which the arm and ours made the file's call."""
    result: list[Row] = []
    for workload in dict.fromkeys(record.workload for record in records):
        here = [record for record in records if record.workload == workload]
        diverged = {r.index for r in here if not r.same}
        for arm in dict.fromkeys(record.arm for record in here):
            result += _arm_rows(workload, arm, [r for r in here if r.arm == arm], diverged)
    return result


def _arm_rows(workload: str, arm: str, records: Sequence[StepRecord], diverged: set[int]
              ) -> Iterator[Row]:
    by_repeat: dict[int, list[StepRecord]] = {}
    for record in records:
        by_repeat.setdefault(record.repeat, []).append(record)
    compared = [[r for r in group if r.index not in diverged] for group in by_repeat.values()]
    if all(compared):
        yield row(workload, arm, 'wall_s', [
            sum(r.result.seconds for r in group) for group in compared], 's')
        yield row(workload, arm, 'ttft_s', [
            r.result.first_token for group in compared for r in group], 's')
        yield row(workload, arm, 'call_s', [
            r.result.seconds for group in compared for r in group], 's')
    last = list(by_repeat.values())[-1]
    for name in sorted({name for record in last for name in record.result.counts}):
        yield row(workload, arm, name, [sum(r.result.counts.get(name, 0) for r in last)],
                  'tokens' if name.endswith('_tokens') else 'calls')
    yield row(workload, arm, 'energy_joule', [
        sum(r.joule for r in group) for group in by_repeat.values()], 'J')
    peak = max(r.peak_memory_bytes for r in records)
    yield row(workload, arm, 'peak_memory_bytes', [peak] if peak else [], 'bytes')
    values = [value for r in last for value in r.call.arguments.values()]
    digits = sum(c.isdigit() for value in values if _is_number(value) for c in str(value))
    for name, count, unit in (
            ('new_tokens', sum(r.new for r in last), 'tokens'), ('calls', len(last), 'calls'),
            ('text_calls', sum(_has_text(r.call) for r in last), 'calls'),
            ('arguments', len(values), 'arguments'), ('digits', digits, 'digits')):
        yield row(workload, arm, name, [count], unit)
    yield row(workload, arm, 'valid_calls', [sum(r.same for r in last)], 'calls')
    yield row(workload, arm, 'diverged_steps', [sum(r.index in diverged for r in last)], 'calls')


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_text(call: ToolCall) -> bool:
    """Say whether a call has free text: a word of the schema is none."""
    properties = next(t.parameters['properties'] for t in tools() if t.name == call.name)
    return any(isinstance(value, str) and 'enum' not in properties[name]
               for name, value in call.arguments.items())


def speedups(figures: Sequence[Row], metric: str = 'wall_s') -> list[dict[str, Any]]:
    """Return, for each workload, how many times longer each arm takes than ours."""
    table = []
    for workload in dict.fromkeys(r.workload for r in figures):
        times = {r.arm: r.median for r in figures
                 if (r.workload, r.metric) == (workload, metric) and r.n}
        if OURS in times:
            table.append({'workload': workload, f'ours {metric}': times[OURS], **{
                arm: times[arm] / times[OURS] for arm in times if arm != OURS}})
    return table
