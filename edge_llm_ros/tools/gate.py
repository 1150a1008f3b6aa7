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

"""The gate: what of a call may leave, and whether it may leave now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
import threading
from typing import Any
from weakref import WeakKeyDictionary

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.tools.condition import Condition, NoSignals, Signals
from edge_llm_ros.tools.confirmation import Confirmations
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.rate_limit import CallCounter, count_call, RateLimit
from edge_llm_ros.tools.refused import Refused
from edge_llm_ros.tools.stop_latch import STOPPED, StopLatch
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.virtual_argument import request_fields

__all__ = ['Gate', 'pass_gate', 'Passage', 'Refused']


@dataclass(frozen=True)
class Passage:
    """
    A call that passed.

    :param fields: request fields by dotted path, not yet of their IDL types
    :param duration: seconds of a rate publish
    """

    fields: Mapping[str, Any]
    duration: float = 0.0


def pass_gate(tool: Tool, arguments: Mapping[str, Any]) -> Passage:
    """
    Check the arguments of a call against the tool and map them to request fields.

    :raises Refused: with the argument, what is wrong with it and what is allowed
    """
    unknown = [name for name in arguments if name not in tool.arguments]
    if unknown:
        allowed = ', '.join(tool.arguments) or 'none'
        raise Refused(f'unknown argument {unknown[0]!r}; allowed: {allowed}')
    fields = flat(tool.fixed)
    duration = tool.publish.duration if tool.publish else None
    seconds = duration if isinstance(duration, float) else 0.0
    for name, argument in tool.arguments.items():
        value = arguments.get(name, argument.default)
        if value is None:
            raise Refused(f'argument {name!r} is missing')
        try:
            argument.check(value)
        except ValueError as error:
            raise Refused(f'argument {name!r}: {error}') from None
        if name == duration:
            seconds = float(value)
        else:
            fields.update(request_fields(name, argument, value))
    return Passage(fields, seconds)


class Gate:
    """
    Decides whether a call may leave now; the same for every verb.

    Its arguments have passed ``pass_gate()`` and the conversion to the types of their fields. What
    is not known, or cannot be asked, means no.

    :param tools: all that may be called, by name
    :param rate_limits: of all tools together
    :param latch: set by an operator's stop
    :param signals: what the conditions are about
    :param confirmations: ask a person; None where nobody can be asked
    """

    def __init__(self, tools: Mapping[str, Tool], rate_limits: Iterable[RateLimit] = (),
                 latch: StopLatch | None = None, signals: Signals | None = None,
                 confirmations: Confirmations | None = None) -> None:
        self.latch = latch or StopLatch()
        self._signals = signals or NoSignals()
        self._confirmations = confirmations
        together = [CallCounter('all tools together', limit) for limit in rate_limits]
        self._counters = {name: list(together) for name in tools}
        self._requires: dict[str, list[Condition]] = {}
        self._watched: dict[str, list[Condition]] = {}
        for name, tool in tools.items():
            if tool.rate_limit is not None:
                self._counters[name].append(CallCounter(repr(name), tool.rate_limit))
            self._watched[name] = [Condition.parse(text) for text in tool.watched]
            self._requires[name] = [
                *(Condition.parse(text) for text in tool.requires), *self._watched[name]]
        self._counting = threading.Lock()
        self._allowed: WeakKeyDictionary[Cancellation, set[str]] = WeakKeyDictionary()

    def check_stop(self) -> None:
        """Raise Refused while the robot is stopped."""
        if self.latch.engaged:
            raise Refused(STOPPED)

    def admit(self, name: str) -> None:
        """
        Check the conditions of a call and count it against its rate limits.

        :raises Refused: with the condition that is not met, or the limit that is reached
        """
        self._check(self._requires[name])
        with self._counting:
            why = count_call(self._counters[name])
        if why:
            raise Refused(why)

    def _check(self, conditions: Iterable[Condition]) -> None:
        for condition in conditions:
            if why := self._signals.why_unmet(condition):
                raise Refused(why)

    def why_broken(self, name: str) -> str:
        """Return which condition of a running call no longer holds; empty if all do."""
        for condition in self._watched[name]:
            if why := self._signals.why_unmet(condition):
                return why
        return ''

    def confirm(self, call: ToolCall, tool: Tool, target: Callable[[], str], goal: Cancellation
                ) -> None:
        """
        Have a person allow a call, where its tool needs that.

        Returns without an answer when the goal is canceled.

        :param target: returns what is called
        :param goal: the goal's own cancellation, by which its calls are known
        :raises Refused: if nobody allowed it, or it may no longer be made once somebody did
        """
        allowed = self._allowed.setdefault(goal, set())
        if tool.confirm == 'never' or tool.confirm == 'first_in_goal' and call.name in allowed:
            return
        if self._confirmations is None:
            raise Refused('a person must allow this call, and nobody can be asked')
        why = self._confirmations.why_not(
            call.name, target(), canonical_json(dict(call.arguments)), tool.confirm_timeout, goal)
        if goal.canceled:
            return  # it ends as canceled, whatever the answer
        if why:
            raise Refused(why)
        allowed.add(call.name)
        # The person took their time: look again.
        self._check(self._requires[call.name])
