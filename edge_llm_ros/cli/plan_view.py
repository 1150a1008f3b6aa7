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

"""Shows a plan as it happens, on a terminal or in a log."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanStep
from edge_llm_ros.cli.plan_client import outcome_name, PlanEnd
from edge_llm_ros.ros.conversions import seconds

_MARKS = {PlanStep.STATUS_SUCCEEDED: '', PlanStep.STATUS_DRY_RUN: '(not sent) ',
          PlanStep.STATUS_FAILED: 'failed: ', PlanStep.STATUS_REFUSED: 'refused: ',
          PlanStep.STATUS_CANCELED: 'canceled: '}


class PlanView:
    """
    Prints steps as they happen; on a terminal also the text while it is written.

    :param out: where to
    """

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._live = out.isatty()
        self._shown: set[int] = set()
        self._told_wait = ''

    def _write(self, text: str) -> None:
        end = '\x1b[K\n' if self._live else '\n'
        print(('\r' if self._live else '') + text, end=end, file=self._out, flush=True)

    def _show_live(self, text: str) -> None:
        if self._live:
            print(f'\r  {text[:100]}\x1b[K', end='', file=self._out, flush=True)

    def on_feedback(self, feedback: Any) -> None:
        """Show one event."""
        step = feedback.step
        if feedback.event in (Plan.Feedback.EVENT_TEXT, Plan.Feedback.EVENT_PROGRESS):
            self._show_live(f'{step.index + 1:2} {feedback.partial_text}')
        elif feedback.event == Plan.Feedback.EVENT_PREFILL:
            self._show_live(f'{step.index + 1:2} reading …')
        elif feedback.event == Plan.Feedback.EVENT_CALL:
            self._show_call(step)
        elif feedback.event == Plan.Feedback.EVENT_STEP_DONE and step.observation:
            times = (f'{seconds(step.inference_time):.2f} s model, '
                     f'{seconds(step.tool_time):.2f} s tool')
            self._write(f'     {_MARKS.get(step.status, "")}{step.observation}   [{times}]')

    def _show_call(self, step: Any) -> None:
        self._shown.add(step.index)
        self._write(f'  {step.index + 1:2} {step.tool} {step.arguments}')

    def show_wait(self, line: str) -> None:
        """Show what is waited for, once."""
        if line != self._told_wait:
            self._told_wait = line
            self._write(f'  {line} …')

    def show_end(self, end: PlanEnd) -> None:
        """Show outcome, reply and metrics."""
        result, metrics = end.result, end.result.metrics
        for step in result.steps:
            # The result may overtake the last feedback.
            if step.tool and step.index not in self._shown:
                self._show_call(step)
        self._shown.clear()
        if result.steps:
            first = result.steps[0].metrics
            self._write(
                f'     first step: prefill {first.prefill_tokens} of {first.new_tokens} new '
                f'tokens, {first.cached_tokens} cached')
        self._write(f'  {outcome_name(result.outcome)}: {result.message}')
        self._write(
            f'     steps {metrics.steps} · prompt {metrics.prompt_tokens} = cached '
            f'{metrics.cached_tokens} + prefill {metrics.prefill_tokens} (new '
            f'{metrics.new_tokens}) · '
            f'generated {metrics.generated_tokens} = sampled {metrics.sampled_tokens} + forced '
            f'{metrics.forced_tokens} + guessed {metrics.accepted_draft_tokens} · decode calls '
            f'{metrics.decode_calls}')
        self._write(
            f'     first token {seconds(metrics.time_to_first_token):.2f} s (worst step '
            f'{seconds(metrics.worst_time_to_first_token):.2f} s) · model '
            f'{seconds(metrics.inference_time):.2f} s · tools {seconds(metrics.tool_time):.2f} s '
            '· '
            f'total {seconds(metrics.wall_time):.2f} s · memory '
            f'{metrics.peak_memory_bytes / 1e9:.2f} GB'
        )
