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

"""What the conditions of a tool file are about: fields of topics, while they are fresh."""

from __future__ import annotations

from collections.abc import Mapping
import time
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.ros.idl import field_type
from edge_llm_ros.ros.latest import Latest
from edge_llm_ros.ros.messages import get, interface
from edge_llm_ros.ros.plain_value import plain
from edge_llm_ros.ros.streams import Streams
from edge_llm_ros.tools.condition import Condition
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.tool_file import ReadVerb


class TopicSignals:
    """
    The signals of some tool files, with a subscription each.

    :param node: that owns the subscriptions
    :param streams: looks at them
    :raises ConfigError: if a condition does not fit the type of its signal
    """

    def __init__(self, node: Any, streams: Streams, loaded: LoadedTools) -> None:
        self._node = node
        self._verbs: Mapping[str, ReadVerb] = loaded.signals
        self._classes = {
            name: interface(verb.type, f'signals.{name}.type')
            for name, verb in loaded.signals.items()}
        self._kinds: dict[tuple[str, str], Any] = {}
        for tool_name, tool in loaded.tools.items():
            for text in (*tool.requires, *tool.watched):
                condition = Condition.parse(text)
                where = f'{loaded.files[tool_name]}: tools.{tool_name}: {text!r}'
                self._kinds[condition.signal, condition.field] = self._kind(condition, where)
        self._topics: dict[str, Latest] = {}
        for name, verb in loaded.signals.items():
            self._topics[name] = Latest(
                node, streams, self._classes[name], verb.type, verb.topic, verb.latched,
                verb.max_age)

    def _kind(self, condition: Condition, where: str) -> Any:
        message_class = self._classes[condition.signal]
        try:
            kind = field_type(message_class, condition.field)
            # A new message has a value of each field's kind.
            value = plain(get(message_class(), condition.field), kind)
        except ValueError as error:
            raise ConfigError(f'{where}: {error}') from None
        fits = isinstance(value, bool) if isinstance(condition.value, bool) else isinstance(
            value, str) if isinstance(condition.value, str) else (
                isinstance(value, (int, float)) and not isinstance(value, bool) or value is None)
        if not fits:
            raise ConfigError(
                f'{where}: the field {condition.field!r} cannot be compared with '
                f'{condition.value!r}.')
        return kind

    def why_unmet(self, condition: Condition) -> str:
        """Return why a condition is not met now; empty if it is."""
        verb, topic = self._verbs[condition.signal], self._topics[condition.signal]
        latest = topic.get()
        if latest is None:
            topic.adapt()
            return (f'nothing is known of {condition.signal} ({topic.why_silent()}), and '
                    f'{condition.text} is required')
        age = time.monotonic() - latest[0]
        if verb.latched:
            # It is told on a change only, so it counts while somebody is there to tell a change.
            if not self._node.count_publishers(topic.name):
                return (f'nobody publishes {condition.signal} any more, and {condition.text} is '
                        f'required')
        elif age > verb.max_age:
            topic.adapt()
            return (f'the last {condition.signal} is {age:.1f} s old, more than '
                    f'{verb.max_age:g} s, and {condition.text} is required')
        kind = self._kinds[condition.signal, condition.field]
        return condition.unmet(plain(get(latest[1], condition.field), kind))

    def mismatches(self) -> list[str]:
        """Return what on the graph does not fit the tool files, in words."""
        found = {name: topic.mismatch() for name, topic in self._topics.items()}
        return [f'signals.{name}: {text}' for name, text in found.items() if text]

    def destroy(self) -> None:
        """Give the subscriptions back."""
        for topic in self._topics.values():
            topic.destroy()
        self._topics.clear()
