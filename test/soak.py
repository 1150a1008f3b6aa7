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

"""Goals that cross each other while everything around them is disturbed, by a script of chance."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
import os
from pathlib import Path
import random
import signal
import time
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from builtin_interfaces.msg import Duration
from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanEvent
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.ros.qos import EVENTS
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot_bench import Bench, children, only
from std_srvs.srv import Trigger

_OPEN = 3  # goals at a time
_GOAL_SECONDS = 90.0  # in which every goal has ended, whatever happens
_TERMINAL = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)
_KILLS = 0.3  # share of the goals during which the engine is ended now and then
_SETTLED = 0.5  # share of the goals after which memory has to stay as it is

# What the model may call decides what happens, whatever it chooses among the arguments.
_SCRIPTS = (('get_location',), ('set_lights', 'get_battery'), ('say',), ('move_to',), ('creep',),
            ('set_gripper',), ('move_to', 'get_temperature'))
_LIVE = {'temperature': (0.0, 0.7, 2.0), 'seed': (1, 2, 3), 'top_k': (0, 5, 40),
         'goal_policy': (*5 * ('queue',), 'reject', 'preempt'), 'queue_length': (1, 4),
         'text_length': (8, 20), 'loop_limit': (2, 3), 'observation_tokens': (16, 64)}
_FAULTS = {'move_to': ('reject', 'abort', 'hang'), 'set_gripper': ('silent', 'fail'),
           'set_lights': ('silent', 'fail')}


def soak_tools() -> dict[str, Any]:
    """Return tools whose calls are short."""
    tools = {**only('get_location'), **only('get_battery'), **only('get_temperature'),
             **only('say', text={'max_length': 20}), **only('set_lights'), **only('set_gripper'),
             **only('creep', seconds={'minimum': 0.1, 'maximum': 0.2}),
             **only('move_to', place={'enum': ['dock', 'kitchen', 'office']})}
    for name in ('set_lights', 'set_gripper', 'get_battery', 'move_to'):
        tools[name]['timeout'] = 1.0
    return tools


def anonymous_kilobytes(*pids: int) -> int:
    """Return RssAnon + VmSwap of processes."""
    total = 0
    for pid in pids:
        status = Path(f'/proc/{pid}/status').read_text()
        total += sum(int(status.partition(f'{key}:')[2].split()[0])
                     for key in ('RssAnon', 'VmSwap'))
    return total


@dataclass
class _Open:
    """A goal that was sent."""

    sending: Any
    sent: float
    cancel_at: float
    handle: Any = None
    result: Any = None


@dataclass
class Findings:
    """
    What came of a soak.

    :param memory: of node and engine [kB], from when no engine was killed for a while
    :param node_memory: of the node alone, from the tenth part on
    """

    outcomes: Counter = field(default_factory=Counter)
    errors: Counter = field(default_factory=Counter)
    rejected: int = 0
    kills: int = 0
    changes: int = 0
    longest: float = 0.0
    memory: list[int] = field(default_factory=list)
    node_memory: list[int] = field(default_factory=list)


class Soak:
    """
    Sends goals to a planner and disturbs it, its engine and its robot.

    :param goals: how many are accepted
    """

    def __init__(self, bench: Bench, planner: NodeProcess, goals: int, seed: int = 1) -> None:
        self._bench, self._planner, self._goals = bench, planner, goals
        self._random = random.Random(seed)
        self._open: list[_Open] = []
        self._accepted: set[bytes] = set()
        self._states: dict[bytes, list[int]] = defaultdict(list)
        self._finished: Counter = Counter()
        self._told: dict[bytes, int] = {}
        self._pending: list[tuple[str, Any]] = []
        self._worked = False  # since the engine was killed
        self.found = Findings()
        node = bench.node
        self._client = ActionClient(node, Plan, 'planner/plan')
        self._set = {name: node.create_client(SetParameters, f'{name}/set_parameters')
                     for name in ('planner', 'simulated_robot')}
        self._ask = {name: node.create_client(Trigger, f'planner/{name}')
                     for name in ('stop', 'release')}
        node.create_subscription(PlanEvent, 'planner/events', self._on_event, EVENTS)
        node.create_subscription(
            GoalStatusArray, 'planner/plan/_action/status', self._on_status,
            QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        bench.until(lambda: self._client.server_is_ready() and all(
            c.service_is_ready() for c in (*self._set.values(), *self._ask.values())))

    def _on_event(self, event: PlanEvent) -> None:
        if event.event == PlanEvent.EVENT_FINISHED:
            self._finished[bytes(event.goal_id.uuid)] += 1

    def _on_status(self, array: GoalStatusArray) -> None:
        for status in array.status_list:
            seen = self._states[bytes(status.goal_info.goal_id.uuid)]
            if not seen or seen[-1] != status.status:
                seen.append(status.status)

    def run(self) -> Findings:
        """Send the goals and wait for the end of all of them."""
        steps = max(1, self._goals // 50)
        while len(self._accepted) < self._goals:
            number = len(self._accepted)
            self._disturb(number)
            self._send()
            self._turn(_OPEN - 1)
            if number != len(self._accepted) and number % steps == 0:
                self._calm()
                self._measure(number)
        self._calm()
        self._measure(self._goals)
        self._bench.until(lambda: set(self._finished) == self._accepted)
        return self.found

    # Goals

    def _send(self) -> None:
        chance = self._random
        tools = chance.choice(_SCRIPTS)
        goal = Plan.Goal(
            instruction=chance.choice(('Go.', 'Look around and tell me.', 'Do it, please. ' * 8)),
            context=chance.choice(('', '', 'The floor is wet. ' * 12)),
            session_id=chance.choice(('', '', 'a', 'b', 'c')), max_steps=chance.choice((1, 2, 3)),
            allowed_tools=tools, dry_run=chance.random() < 0.05)
        if chance.random() < 0.1:
            goal.time_budget = Duration(nanosec=chance.randrange(50_000_000, 900_000_000))
        now = time.monotonic()
        cancel_at = now + chance.random() ** 2 if chance.random() < 0.25 else float('inf')
        self._open.append(_Open(self._client.send_goal_async(goal), now, cancel_at))

    def _turn(self, most: int) -> None:
        """Spin until no more than some goals are open."""
        deadline = time.monotonic() + _GOAL_SECONDS
        while len(self._open) > most:
            assert time.monotonic() < deadline, f'hangs:\n{self._bench.logs()[-20000:]}'
            self._bench.spin_once()
            for goal in list(self._open):
                self._attend(goal)

    def _attend(self, goal: _Open) -> None:
        if goal.handle is None and goal.sending.done():
            goal.handle = goal.sending.result()
            if not goal.handle.accepted:
                self.found.rejected += 1
                self._open.remove(goal)
                return
            self._accepted.add(bytes(goal.handle.goal_id.uuid))
            goal.result = goal.handle.get_result_async()
        if goal.handle is not None and time.monotonic() >= goal.cancel_at:
            goal.cancel_at = float('inf')
            goal.handle.cancel_goal_async()
        if goal.result is not None and goal.result.done():
            self._open.remove(goal)
            self._end(goal, goal.result.result())

    def _end(self, goal: _Open, end: Any) -> None:
        outcome, canceled = end.result.outcome, end.status == GoalStatus.STATUS_CANCELED
        assert end.status in _TERMINAL and outcome != Plan.Result.UNKNOWN, end
        assert canceled == (outcome == Plan.Result.CANCELED), end
        self._told[bytes(goal.handle.goal_id.uuid)] = end.status
        self.found.outcomes[outcome] += 1
        self.found.longest = max(self.found.longest, time.monotonic() - goal.sent)
        if outcome == Plan.Result.ENGINE_ERROR:
            self.found.errors[end.result.message[:48]] += 1
            # As whoever tries again should; else all goals would end while it waits or loads.
            self._bench.spin(0.2)
        elif end.result.steps and not canceled:
            self._worked = True

    def check_states(self) -> None:
        """Each goal has exactly one terminal state, and it is the one of its result."""
        assert set(self._told) == self._accepted and len(self._told) >= self._goals
        # The last event, and the last array of states, may still be on their way.
        self._bench.until(lambda: all(self._finished[goal] for goal in self._accepted))
        assert all(self._finished[goal] == 1 for goal in self._accepted)
        self._bench.until(lambda: all(
            self._states[goal] and self._states[goal][-1] in _TERMINAL for goal in self._told))
        for goal, status in self._told.items():
            ends = [s for s in self._states[goal] if s in _TERMINAL]
            assert ends == [status], (ends, status)

    # Disturbances

    def _disturb(self, number: int) -> None:
        chance = self._random
        self._settle_pending(most=8)
        if chance.random() < 0.15:
            name = chance.choice(list(_LIVE))
            self._change('planner', name, chance.choice(_LIVE[name]))
        if chance.random() < 0.1:
            name = chance.choice(list(_FAULTS))
            self._change('simulated_robot', f'fault.{name}', chance.choice(('', *_FAULTS[name])))
        if chance.random() < 0.02:
            for name in ('stop', 'release'):
                self._pending.append((name, self._ask[name].call_async(Trigger.Request())))
        if number < self._goals * _KILLS and self._worked and chance.random() < 0.1:
            self._worked = False
            self._kill(chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV)))

    def _change(self, node: str, name: str, value: Any) -> None:
        self.found.changes += 1
        self._pending.append((f'{name} = {value!r}', self._set[node].call_async(
            SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()]))))

    def _kill(self, number: int) -> None:
        for engine in children(self._planner.process.pid):
            os.kill(engine, number)
            self.found.kills += 1

    def _settle_pending(self, most: int) -> None:
        """Wait until no more than some requests are unanswered; each must have worked."""
        self._bench.until(lambda: sum(not f.done() for _, f in self._pending) <= most, 60.0)
        for what, future in [p for p in self._pending if p[1].done()]:
            self._pending.remove((what, future))
            for result in getattr(future.result(), 'results', ()):
                assert result.successful, f'{what}: {result.reason}'

    def _calm(self) -> None:
        """Let all goals end, with a robot that works, so that memory can be compared."""
        for name in _FAULTS:
            self._change('simulated_robot', f'fault.{name}', '')
        self._turn(0)
        self._settle_pending(most=0)

    def _measure(self, number: int) -> None:
        node = self._planner.process.pid
        if number >= self._goals * _SETTLED:
            self.found.memory.append(anonymous_kilobytes(node, *children(node)))
        if number >= self._goals * 0.1:
            self.found.node_memory.append(anonymous_kilobytes(node))
