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

"""Between the planner's data and its ROS messages."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Duration
from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanMetrics, PlanStep
from edge_llm_ros.agent.construction import goal_settings
from edge_llm_ros.flow.event import Event
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.result import Result
from edge_llm_ros.flow.step import Step


def duration(seconds: float) -> Duration:
    """Return seconds as a message."""
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def seconds(message: Any) -> float:
    """Return a duration message as seconds."""
    return float(message.sec + message.nanosec * 1e-9)


def text_message(text: str) -> str:
    """Return a text that a ROS string can hold."""
    return text.encode('utf-8', 'replace').decode().replace('\0', '\ufffd')


def metrics_message(metrics: Metrics) -> PlanMetrics:
    """Return metrics as a message."""
    tokens = metrics.tokens
    return PlanMetrics(
        steps=metrics.steps,
        prompt_tokens=tokens.prompt,
        cached_tokens=tokens.cached,
        prefill_tokens=tokens.prefill,
        new_tokens=tokens.new,
        reuse_lost=text_message(metrics.reuse_lost),
        generated_tokens=tokens.generated,
        sampled_tokens=tokens.sampled,
        forced_tokens=tokens.forced,
        text_tokens=tokens.text,
        draft_tokens=tokens.draft,
        accepted_draft_tokens=tokens.accepted_draft,
        decode_calls=tokens.decode_calls,
        cache_hit_rate=float(tokens.cache_hit_rate),
        time_to_first_token=duration(metrics.first_token),
        worst_time_to_first_token=duration(metrics.worst_first_token),
        time_to_call=duration(metrics.first_call),
        decode_tokens_per_second=float(metrics.decode_tokens_per_second),
        inference_time=duration(metrics.inference),
        tool_time=duration(metrics.tool),
        wall_time=duration(metrics.wall),
        peak_memory_bytes=metrics.peak_memory_bytes,
        energy_joule=float(metrics.energy_joule))


def step_message(step: Step) -> PlanStep:
    """Return a step as a message."""
    return PlanStep(
        index=step.index, tool=text_message(step.tool), arguments=text_message(step.arguments),
        status=int(step.status), observation=text_message(step.observation),
        error=text_message(step.error),
        inference_time=duration(step.metrics.inference), tool_time=duration(step.metrics.tool),
        metrics=metrics_message(step.metrics))


def feedback_message(event: Event) -> Any:
    """Return an event as feedback."""
    return Plan.Feedback(
        event=int(event.kind), step=step_message(event.step),
        partial_text=text_message(event.text),
        metrics=metrics_message(event.metrics))


def result_message(result: Result) -> Any:
    """Return a result as a message."""
    return Plan.Result(outcome=int(result.outcome),
                       message=text_message(result.message),
                       steps=[step_message(step) for step in result.steps],
                       metrics=metrics_message(result.metrics))


def goal_of(request: Any, parameters: Any) -> Goal:
    """
    Return the goal of a request.

    :param parameters: of the planner by name, for what the request does not say
    """
    return Goal(
        instruction=request.instruction,
        context=request.context,
        session_id=request.session_id,
        allowed_tools=frozenset(request.allowed_tools) or None,
        max_steps=request.max_steps or parameters['max_steps'],
        time_budget=seconds(request.time_budget) or parameters['time_budget'],
        dry_run=request.dry_run,
        **goal_settings(parameters))
