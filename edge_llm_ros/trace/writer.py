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
"""Writes a file for each goal: a JSON object a line, in the order in which things happened."""

from __future__ import annotations

from dataclasses import asdict
import json
import math
from pathlib import Path
import time
from typing import Any, TextIO

from edge_llm_ros.flow.event import Event, EventKind
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.result import Result
from edge_llm_ros.flow.step import Step
from edge_llm_ros.flow.tool import Status

VERSION = 1
SUFFIX = '.trace.jsonl'
_KEPT = 1000  # files of a folder


def _finite(value: Any) -> Any:
    """Return JSON data without the numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _metrics(metrics: Metrics) -> dict[str, Any]:
    data: dict[str, Any] = _finite(asdict(metrics))
    return data


def _step(step: Step) -> dict[str, Any]:
    return {'index': step.index, 'tool': step.tool, 'arguments': step.arguments,
            'status': Status(step.status).name, 'observation': step.observation,
            'error': step.error, 'metrics': _metrics(step.metrics)}


class TraceWriter:
    """
    Writes what happens to goals, as an observer.

    A goal that ends without having run leaves no file. The oldest files go where there are many.
    """

    def __init__(self) -> None:
        self._folder = ''
        self._open: dict[bytes, tuple[TextIO, float]] = {}

    def write_to(self, folder: str) -> None:
        """Write the next goals into a folder; nowhere if it is empty."""
        self._folder = folder

    def accepted(self, goal_id: bytes, goal: Goal) -> None:
        """Do nothing: a goal's file begins with its turn."""

    def started(self, goal_id: bytes, goal: Goal) -> None:
        """Begin a file."""
        if not self._folder:
            return
        folder = Path(self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob(f'*{SUFFIX}'))[:-_KEPT + 1]:
            old.unlink(missing_ok=True)
        utc = time.gmtime()
        name = time.strftime('%Y%m%dT%H%M%S', utc)
        path = folder / f'{name}-{goal_id.hex()[:8]}{SUFFIX}'
        self._open[goal_id] = path.open('w', encoding='utf-8'), time.monotonic()
        self._write(goal_id, 'goal', {
            'version': VERSION, 'utc': time.strftime('%Y-%m-%dT%H:%M:%SZ', utc),
            'goal_id': goal_id.hex(), 'instruction': goal.instruction, 'context': goal.context,
            'session_id': goal.session_id, 'max_steps': goal.max_steps,
            'time_budget': goal.time_budget, 'dry_run': goal.dry_run,
            'allowed_tools': None if goal.allowed_tools is None else sorted(goal.allowed_tools)})

    def happened(self, goal_id: bytes, event: Event) -> None:
        """Write an event; of the text that grows, its length alone."""
        if goal_id not in self._open:
            return
        if event.kind in (EventKind.PREFILL, EventKind.TEXT):
            data: dict[str, Any] = {'step': event.step.index, 'characters': len(event.text)}
        elif event.kind is EventKind.PROGRESS:
            data = {'step': event.step.index, 'text': event.text}
        else:
            data = _step(event.step)
        self._write(goal_id, event.kind.name.lower(), data)

    def finished(self, goal_id: bytes, goal: Goal, result: Result) -> None:
        """Write the end and close the file."""
        if goal_id in self._open:
            self._write(goal_id, 'finished', {
                'outcome': result.outcome.name, 'message': result.message,
                'steps': [_step(step) for step in result.steps],
                'metrics': _metrics(result.metrics)})
            self._open.pop(goal_id)[0].close()

    def _write(self, goal_id: bytes, kind: str, data: dict[str, Any]) -> None:
        file, start = self._open[goal_id]
        line = {'time': round(time.monotonic() - start, 6), 'event': kind, **data}
        file.write(json.dumps(line, ensure_ascii=False) + '\n')
        file.flush()
