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

"""What is read at the start of a goal: told in its message, and what it may call then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.tool import GoalFacts, ToolCall
from edge_llm_ros.tools.argument import Argument
from edge_llm_ros.tools.gate import Refused
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.readings import Reading, ValuesFrom
from edge_llm_ros.tools.tool_file import Tool

VALUE_LENGTH = 64  # characters of a value that the model can choose
READING_LENGTH = 160  # characters of a reading


class NotRead(Exception):
    """Raised when there is no reading; the message is for the model."""


class SourceReader(Protocol):
    """Reads a field from a topic or a service; one goal at a time."""

    def ask(self) -> None:
        """Begin to read."""

    def answer(self, cancellation: Cancellation) -> Any:
        """
        Wait for the value and return it as JSON has it.

        :raises NotRead: with the reason, if it does not come in time
        """


def told(reading: Reading, value: Any) -> Any:
    """Return a reading as the model is told it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = value * reading.scale if reading.scale != 1.0 else value
        if reading.digits is not None:
            value = round(value, reading.digits) if reading.digits else round(value)
        return f'{value} {reading.unit}' if reading.unit else value
    text = value if isinstance(value, str) else canonical_json(value)
    if len(text) > READING_LENGTH:
        return text[:READING_LENGTH] + '…'
    return value


def read_all(readers: Mapping[str, SourceReader], readings: Mapping[str, Reading],
             cancellation: Cancellation) -> dict[str, Any]:
    """Return readings as the model is told them; of one that is not there, why."""
    for reader in readers.values():
        reader.ask()
    values: dict[str, Any] = {}
    for name, reader in readers.items():
        try:
            values[name] = told(readings[name], reader.answer(cancellation))
        except NotRead as reason:
            values[name] = f'not known: {reason}'
    return values


class FactsReader:
    """
    Reads what goals are told at their start.

    :param context: readers of the files' ``context_from``
    :param values: readers of arguments' ``values_from``, by tool and argument
    """

    def __init__(self, loaded: LoadedTools, context: Mapping[str, SourceReader],
                 values: Mapping[tuple[str, str], SourceReader]) -> None:
        self._loaded = loaded
        self._context = dict(context)
        self._values = dict(values)

    def read(self, allowed: frozenset[str] | None, cancellation: Cancellation) -> GoalFacts:
        """
        Read everything, all at the same time.

        :param allowed: tools that the goal may call; nothing is read for the others
        """
        wanted = {key: reader for key, reader in self._values.items()
                  if allowed is None or key[0] in allowed}
        for reader in wanted.values():
            reader.ask()
        context = read_all(self._context, self._loaded.context_from, cancellation)
        lines = [f'Readings now: {canonical_json(context)}'] if context else []
        choices: dict[str, dict[str, tuple[str | int, ...]]] = {}
        impossible: dict[str, str] = {}
        for (tool, name), reader in wanted.items():
            argument = self._loaded.tools[tool].arguments[name]
            try:
                values, left_out = _choices(argument, reader.answer(cancellation))
            except NotRead as reason:
                impossible[tool] = f'the values of {name} are not known: {reason}'
                lines.append(f'{tool} cannot be called now: {impossible[tool]}.')
                continue
            choices.setdefault(tool, {})[name] = values
            lines.append(f'{tool}: {name} is one of {canonical_json(list(values))}'
                         + (f'; {left_out} more are left out' if left_out else ''))
        return GoalFacts('\n'.join(lines), choices, impossible)


def _choices(argument: Argument, read: Any) -> tuple[tuple[str | int, ...], int]:
    """Return the values that an argument can have and how many were left out; raises NotRead."""
    source = argument.values_from
    assert isinstance(source, ValuesFrom)
    items = read if isinstance(read, list) else [read]
    usable = [item for item in dict.fromkeys(i for i in items if isinstance(i, (str, int)))
              if _fits(argument, item)]
    if not usable:
        raise NotRead(f'there is none on {source.name!r}' if not items else
                      f'{source.name!r} tells nothing that it can be')
    return tuple(usable[:source.most]), len(items) - len(usable[:source.most])


def _fits(argument: Argument, item: str | int) -> bool:
    if isinstance(item, str) and not 0 < len(item) <= VALUE_LENGTH:
        return False
    try:
        argument.check(item)
    except ValueError:
        return False
    return True


def check_choices(call: ToolCall, tool: Tool, facts: GoalFacts) -> None:
    """
    Check the arguments whose values were read at the goal's start.

    :raises Refused: if a value is none of them, or if they were not read
    """
    for name, argument in tool.arguments.items():
        if argument.values_from is None:
            continue
        values = facts.choices.get(call.name, {}).get(name)
        if values is None:
            raise Refused(facts.impossible.get(call.name, f'the values of {name} are not known'))
        value = call.arguments.get(name)
        # True and 1 are equal in Python.
        if value is not None and (isinstance(value, bool) or value not in values):
            raise Refused(f'argument {name!r}: {value!r} is not one of '
                          f'{", ".join(map(str, values))}')
