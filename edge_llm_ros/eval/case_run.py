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

"""Runs a case: its goals one after the other, each judged by the robot's own word."""

from __future__ import annotations

from dataclasses import dataclass, field
import json
from typing import Any, Protocol

from edge_llm_ros.eval.event import Event
from edge_llm_ros.eval.judge import Evidence, judge, Verdict
from edge_llm_ros.eval.mission import Case, CaseGoal
from edge_llm_ros.eval.rehearsal import rehearse
from edge_llm_ros.eval.row import digest_of, EvalRow
from edge_llm_ros.eval.written_call import act_of, why_invalid, write_call
from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.step import Step
from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.tools.tool_file import ToolFile


@dataclass(frozen=True)
class GoalEnd:
    """
    How a goal ended.

    :param outcome: by the planner's word, as in Outcome, in lower case
    :param reply: the planner's sentence
    :param state: of the robot afterwards
    :param events: of the robot during the goal
    """

    outcome: str
    reply: str
    steps: tuple[Step, ...]
    metrics: Metrics
    state: dict[str, Any]
    events: tuple[Event, ...]

    def calls(self) -> list[ToolCall]:
        """Return the calls that the model made."""
        return [ToolCall(s.tool, json.loads(s.arguments)) for s in self.steps if s.tool]


class PlannedRobot(Protocol):
    """A planner and the simulated robot that it plans for."""

    def reset(self, case: Case) -> None:
        """Begin a case in a fresh world."""

    def plan(self, case: Case, goal: CaseGoal) -> GoalEnd:
        """Let the planner reach a goal of that case, in the world as it is now."""


@dataclass
class _Seen:
    """What has happened in a case so far."""

    verdicts: list[Verdict] = field(default_factory=list)
    ends: list[GoalEnd] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)


def session_of(case: Case) -> str:
    """Return the session of a case's goals; empty where there is only one."""
    return case.key if len(case.goals) > 1 else ''


def run_case(case: Case, robot: PlannedRobot, tools: ToolFile, setting: str) -> EvalRow:
    """
    Run a case from a fresh world on; its goals end with the first that is not reached.

    :param tools: of the case's tool set
    :param setting: digest of what the row depends on beside the case
    """
    robot.reset(case)
    seen = _Seen()
    for goal, reference in zip(case.goals, rehearse(case, tools.tools)):
        end = robot.plan(case, goal)
        calls = end.calls()
        seen.ends.append(end)
        seen.calls += calls
        attempts = [act_of(made, tools.tools) for made in calls]
        seen.verdicts.append(judge(goal.expect, reference.events, Evidence(
            end.state, end.events, end.outcome, end.reply,
            tuple(act for act in attempts if act is not None))))
        if not seen.verdicts[-1].success:
            break
    return _row(case, seen, tools, setting)


def _row(case: Case, seen: _Seen, tools: ToolFile, setting: str) -> EvalRow:
    metrics = [end.metrics for end in seen.ends]
    verdicts = seen.verdicts
    invalid = ((write_call(c), why_invalid(c, tools)) for c in seen.calls)
    return EvalRow(
        key=case.key, mission=case.mission, kind=case.kind, split=case.split,
        language=case.language, world=case.world, tools=case.tools,
        setting=setting, digest=digest_of(case),
        success=len(verdicts) == len(case.goals) and all(v.success for v in verdicts),
        gave_up=any(v.gave_up for v in verdicts),
        false_claims=sum(v.false_claim for v in verdicts),
        outcomes=tuple(end.outcome for end in seen.ends),
        replies=tuple(end.reply for end in seen.ends),
        reasons=tuple(reason for v in verdicts for reason in v.reasons),
        calls=tuple(map(write_call, seen.calls)),
        invalid=tuple(f'{text}: {why}' for text, why in invalid if why),
        forbidden=tuple(event for v in verdicts for event in v.forbidden),
        attempted=tuple(event for v in verdicts for event in v.attempted),
        optimum=sum(goal.optimum for goal in case.goals[:len(verdicts)]),
        prefill_tokens=sum(m.tokens.prefill for m in metrics),
        new_tokens=sum(m.tokens.new for m in metrics),
        cached_tokens=sum(m.tokens.cached for m in metrics),
        generated_tokens=sum(m.tokens.generated for m in metrics),
        seconds=sum(m.wall for m in metrics),
        model_seconds=sum(m.inference for m in metrics),
        tool_seconds=sum(m.tool for m in metrics),
        observations=tuple(s.observation for end in seen.ends for s in end.steps if s.tool))
