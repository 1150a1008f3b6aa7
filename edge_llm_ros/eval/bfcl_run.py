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

"""Lets a model call the functions of BFCL items: the agent and the grammar that robots get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
import json
from pathlib import Path
import time
from typing import Any

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.bench.report import markdown_table
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.eval.bfcl import BfclItem, CATEGORIES
from edge_llm_ros.eval.bfcl_check import why_turn_wrong, why_wrong
from edge_llm_ros.eval.bfcl_turns import BfclTurns, MULTI_TURN
from edge_llm_ros.eval.scores import share
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.tool import (
    FallbackCall, GoalFacts, NO_FACTS, Observation, Status, ToolCall, ToolSchema)
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins

_CONTEXT = 16384
_SECONDS = 120.0  # of a turn
_STEPS = 20  # of a turn of several, as the leaderboard allows
_SYSTEM = '\n'.join((
    'You help by calling functions, one at a time.',
    '- Call a function once for each thing that is asked for, with the values that it names.',
    '- Leave out optional arguments that the request does not speak of.',
    '- When all is called, call finish with success true.',
    '- If no function can do what is asked, call finish with success false at once.'))


@dataclass(frozen=True)
class BfclRow:
    """What came of one item."""

    id: str
    category: str
    setting: str
    success: bool
    reason: str
    calls: tuple[str, ...]
    seconds: float


class _Functions:
    """A toolset whose calls are answered by a function; takes note of them."""

    fallback: FallbackCall | None = None  # there is no robot that would have to stop

    def __init__(self, schemas: Sequence[ToolSchema], answer: Callable[[ToolCall], Observation]
                 ) -> None:
        self._schemas = tuple(schemas)
        self._answer = answer
        self.calls: list[ToolCall] = []

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the functions."""
        return self._schemas

    def facts(self, allowed: frozenset[str] | None, cancellation: Cancellation) -> GoalFacts:
        """Return nothing: there is no robot to read."""
        return NO_FACTS

    def call(self, call: ToolCall, cancellation: Cancellation, *, allowed: frozenset[str] | None,
             dry_run: bool, on_progress: Callable[[str], None],
             facts: GoalFacts = NO_FACTS) -> Observation:
        """Make a call."""
        self.calls.append(call)
        return self._answer(call)


class BfclRunner:
    """
    A model that answers items; a context manager.

    :param setting: digest of what the rows depend on
    """

    def __init__(self, model_path: str, threads: int, setting: str) -> None:
        self._engine = LocalEngine(EngineConfig(
            model_path=model_path, context_tokens=_CONTEXT, max_sessions=1, threads=threads))
        self._format = chat_format('auto', self._engine.info())
        self._setting = setting

    def __enter__(self) -> BfclRunner:
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.close()

    def run(self, item: BfclItem | BfclTurns) -> BfclRow:
        """Let the model answer an item and judge what it called."""
        start = time.monotonic()
        tools = (*item.schemas(), *builtin_schemas(Builtins(compare=False, wait=0.0)))
        model = LocalModel(self._engine, self._format, _SYSTEM, tools, [], GenerationLimits())
        for _ in model.warm_up():
            pass
        if isinstance(item, BfclTurns):
            reason, calls = _run_turns(item, model, tools)
        else:
            functions = _Functions(
                tools, lambda call: Observation(Status.SUCCEEDED, '{"called": true}'))
            _ask(model, functions, item.text, len(item.answers) + 2)
            reason, calls = why_wrong(item, functions.calls), functions.calls
        return BfclRow(item.id, item.category, self._setting, not reason, reason,
                       tuple(f'{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}'
                             for call in calls), time.monotonic() - start)


def _ask(model: LocalModel, functions: _Functions, text: str, steps: int, session: str = ''
         ) -> None:
    cancellation = Cancellation()
    cancellation.limit(_SECONDS)
    goal = Goal(text, session_id=session, max_steps=steps, time_budget=_SECONDS)
    for _ in Agent(model, functions).run(goal, cancellation):
        pass


def _run_turns(item: BfclTurns, model: LocalModel, tools: Sequence[ToolSchema]
               ) -> tuple[str, Sequence[ToolCall]]:
    """Return why the first wrong turn of an item is wrong, and the calls until then."""
    world, truth, told = item.world(), item.world(), list[str]()

    def answer(call: ToolCall) -> Observation:
        text, worked = world.call(call.name, **call.arguments)
        told.append(text)
        return Observation(Status.SUCCEEDED, text) if worked else (
            Observation(Status.FAILED, text, text))
    functions = _Functions(tools, answer)
    for number, (text, due) in enumerate(zip(item.texts, item.truth), 1):
        before = len(functions.calls)
        _ask(model, functions, text, _STEPS, item.id)
        results = [truth.call_written(call) for call in due]
        reason = why_turn_wrong(world, truth, told, results) if due else ''
        if due and len(functions.calls) == before:
            reason = 'nothing was called'
        if reason:
            return f'turn {number}: {reason}', functions.calls
    return '', functions.calls


def write_bfcl_report(folder: Path, facts: dict[str, Any], rows: Sequence[BfclRow]) -> Path:
    """Write bfcl.json and bfcl.md; returns the latter."""
    shares = [share(name, sum(r.success for r in rows if r.category == name),
                    sum(r.category == name for r in rows)) for name in (*CATEGORIES, MULTI_TURN)]
    shares.append(share('all', sum(r.success for r in rows), len(rows)))
    shares = [s for s in shares if s.n]
    (folder / 'bfcl.json').write_text(json.dumps(
        {'meta': facts, 'success_by': [asdict(s) for s in shares],
         'cases': [asdict(row) for row in rows]}, indent=1, ensure_ascii=False) + '\n')
    lines = ['# BFCL', '', *(f'- {key}: {value}' for key, value in facts.items()), '']
    lines += markdown_table([{'category': s.name, 'success': f'{s.share:.1%}', 'of': s.n,
                              '95 % interval': f'{s.low:.1%} to {s.high:.1%}'} for s in shares])
    lines += ['', '## Wrong', '']
    lines += markdown_table([{'item': r.id, 'why': r.reason.replace('|', '/')}
                             for r in rows if not r.success])
    path = folder / 'bfcl.md'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path
