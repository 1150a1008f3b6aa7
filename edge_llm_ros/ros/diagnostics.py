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
"""Publishes how the planner is, in the conventions of diagnostic_updater."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from edge_llm_ros.flow.goal_statistics import GoalStatistics
from edge_llm_ros.platform.memory import available_memory_bytes, peak_memory_bytes
from edge_llm_ros.platform.model_speed import ModelSpeed
from edge_llm_ros.ros.conversions import text_message
from edge_llm_ros.ros.planner import Planner
from edge_llm_ros.ros.qos import COMMAND
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType

TOPIC = '/diagnostics'  # where diagnostic aggregators listen, whatever the namespace
_PERIOD = 1.0  # seconds
_FEWEST = 3  # steps that a rate is told of
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

Task = tuple[bytes, str, Mapping[str, object]]


class Diagnostics:
    """
    Publishes four statuses a second: planner, model, KV cache and memory.

    :param node: the planner node
    :param statistics: of the goals
    :param planner: returns what configure made; None without
    """

    def __init__(self, node: Any, statistics: GoalStatistics,
                 planner: Callable[[], Planner | None]) -> None:
        self._node = node
        self._statistics = statistics
        self._planner = planner
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, COMMAND)
        # On its own clock and in its own group: neither a simulation that stands still nor a
        # transition that takes its time silences it.
        self._timer = node.create_timer(
            _PERIOD, self._publish, MutuallyExclusiveCallbackGroup(),
            Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        try:
            message = DiagnosticArray()
            message.header.stamp = self._node.get_clock().now().to_msg()
            message.status = [self._status(name, task) for name, task in self._tasks().items()]
            self._publisher.publish(message)
        except Exception:
            self._node.log_exception('diagnostics')

    def _status(self, name: str, task: Task) -> DiagnosticStatus:
        level, text, values = task
        return DiagnosticStatus(
            level=level, name=f'{self._node.get_name()}: {name}', message=text_message(text),
            hardware_id=self._node.get_fully_qualified_name(),
            values=[KeyValue(key=key, value=text_message(str(value)))
                    for key, value in values.items()])

    def _tasks(self) -> Mapping[str, Task]:
        planner = self._planner()
        return {'planner': self._of_planner(), 'model': self._of_model(planner),
                'KV cache': self._of_cache(planner), 'memory': self._of_memory(planner)}

    def _of_planner(self) -> Task:
        statistics, state = self._statistics, self._node.state_label
        last = statistics.last
        running = statistics.running
        values = {'state': state, 'goal': running[1] if running else '',
                  'waiting': statistics.waiting, 'goals': statistics.goals,
                  'last outcome': last.outcome.name if last else '',
                  'last message': last.message if last else '',
                  'last error': self._node.last_error or statistics.last_error}
        if self._node.last_error:
            return ERROR, self._node.last_error, values
        if statistics.last_error:
            return WARN, statistics.last_error, values
        return OK, self._node.doing or state, values

    def _of_model(self, planner: Planner | None) -> Task:
        if planner is None or planner.info is None:
            return OK, 'no model is loaded', {}
        info, asked = planner.info, planner.gpu_layers_asked
        wanted = info.layers + 1 if asked < 0 else min(asked, info.layers + 1)
        speed, engine = planner.speed, planner.engine_state()
        values: dict[str, object] = {
            'model': info.name, 'description': info.description, 'path': info.path,
            'layers on the GPU': f'{info.gpu_layers} of {info.layers + 1}',
            'threads': info.threads, **_speeds(speed)}
        if engine is not None:
            values.update({'engine process': engine.pid, 'restarts': engine.restarts,
                           'last end of the process': engine.last_error})
            if not engine.alive:
                return ERROR, engine.last_error or 'the engine process does not run', values
        if info.gpu and info.gpu_layers < wanted:
            return WARN, (f'{info.gpu_layers} of {wanted} layers are on the GPU: there may be too '
                          'little memory'), values
        if speed is not None and speed.warning:
            return WARN, speed.warning, values
        return OK, f'{info.name}, {info.description}', values

    def _of_cache(self, planner: Planner | None) -> Task:
        pinned = planner.prefix_tokens if planner is not None else 0
        tokens, metrics = self._statistics.totals()
        first = self._statistics.first_tokens()
        median = first[len(first) // 2] if first else 0.0
        values = {
            'prefix tokens pinned': pinned, 'steps': metrics.steps,
            'hit rate': f'{tokens.cache_hit_rate:.3f}', 'cached tokens': tokens.cached,
            'evaluated tokens': tokens.prefill, 'new tokens': tokens.new,
            'reuse lost': metrics.reuse_lost,
            'time to first token, median [s]': f'{median:.3f}',
            'decode [tokens/s]': f'{metrics.decode_tokens_per_second:.1f}'}
        least = self._node.parameters['hit_rate_warning']
        if metrics.steps >= _FEWEST and tokens.cache_hit_rate < least:
            reason = f': {metrics.reuse_lost}' if metrics.reuse_lost else ''
            return WARN, (f'{tokens.cache_hit_rate:.0%} of the prompt tokens came from the cache, '
                          f'less than {least:.0%}{reason}'), values
        return OK, f'{pinned} prefix tokens pinned' if pinned else 'nothing is pinned', values

    def _of_memory(self, planner: Planner | None) -> Task:
        available, least = available_memory_bytes(), self._node.parameters['memory_warning']
        peak = peak_memory_bytes() if planner is None else planner.peak_memory_bytes()
        values = {'peak of node and engine [MB]': peak // 10**6,
                  'available [MB]': available // 10**6}
        if available and available < least:
            return WARN, (f'{available / 1e6:.0f} MB are left on this board, less than '
                          f'{least / 1e6:.0f}'), values
        return OK, f'{available / 1e6:.0f} MB are left', values


def _speeds(speed: ModelSpeed | None) -> dict[str, object]:
    if speed is None:
        return {}
    return {'decode [tokens/s]': f'{speed.decode:.1f}',
            'decode that the memory allows [tokens/s]': f'{speed.decode_limit:.1f}',
            'prefill [tokens/s]': f'{speed.prefill:.0f}',
            'prefill that is usual [tokens/s]': f'{speed.prefill_usual:.0f}'}
