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

"""The tools that a planner has: built-in ones, and those of its files behind the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import logging
from pathlib import Path
from typing import Any, Protocol

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import (
    COMPARE, FallbackCall, GoalFacts, NO_FACTS, Observation, RECALL, REMEMBER, Status, ToolCall,
    ToolSchema, WAIT)
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.compare import compare
from edge_llm_ros.tools.gate import Gate, pass_gate, Passage, Refused
from edge_llm_ros.tools.goal_facts import check_choices, FactsReader
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.notes import Notes, RecallTool, RememberTool

logger = logging.getLogger(__name__)


class Verb(Protocol):
    """
    One tool's way to the robot.

    :param target: the verb, the resolved name and the type of what it calls
    """

    @property
    def target(self) -> str:
        """Return what it calls, for the person who is asked."""

    def prepare(self, passage: Passage) -> Any:
        """
        Return the message to send, every field of its IDL type.

        :raises Refused: if a value does not fit its field exactly
        """

    def send(self, message: Any, passage: Passage, cancellation: CallCancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """
        Send the message and wait for what comes of it, until the tool's timeout at most.

        :raises Refused: if an operator stopped the robot before anything was sent
        """


def succeeded(result: Mapping[str, Any]) -> Observation:
    """Return the observation of a call that worked."""
    return Observation(Status.SUCCEEDED, canonical_json(dict(result)))


def failed(reason: str, status: Status = Status.FAILED, result: Mapping[str, Any] | None = None
           ) -> Observation:
    """Return the observation of a call that did not work, with the reason for the model."""
    # A message that is the reason already is not told twice.
    rest = {name: value for name, value in (result or {}).items() if value != reason}
    return Observation(status, canonical_json({'error': reason, **rest}), reason)


class OwnTool(Protocol):
    """A tool of the planner's own that needs more than its arguments."""

    def call(self, arguments: Mapping[str, Any], cancellation: Cancellation, dry_run: bool
             ) -> Observation:
        """
        Make a call and wait a bounded time for what comes of it.

        :raises Refused: if an argument is not allowed
        """


class GatedToolset:
    """
    The tools of the files and the built-in ones.

    :param loaded: the tools and which built-in ones are switched on
    :param verbs: by the names of the tools
    :param gate: of these tools; one that knows no signals and can ask nobody where left out
    :param own: built-in tools that need ROS, by name
    :param reader: reads what a goal is told at its start
    :param wait: lets seconds pass and returns whether the goal was canceled meanwhile
    :param notes_file: keeps notes across restarts, where a file switches them on; None: in memory
    :raises ConfigError: if that file cannot be used
    """

    _notes: Notes | None = None

    def __init__(self, loaded: LoadedTools, verbs: Mapping[str, Verb], gate: Gate | None = None,
                 own: Mapping[str, OwnTool] | None = None, reader: FactsReader | None = None,
                 wait: Callable[[Cancellation, float], bool] = Cancellation.wait,
                 notes_file: Path | None = None) -> None:
        self._let_pass = wait
        self._gate = gate or Gate(loaded.tools, loaded.rate_limits)
        self._loaded = loaded
        self._tools = dict(loaded.tools)
        self._builtins = loaded.builtins
        self._verbs = dict(verbs)
        self._own = dict(own or {})
        if loaded.builtins.notes:
            self._notes = notes = Notes(loaded.builtins.notes, notes_file)
            self._own.update({REMEMBER: RememberTool(notes), RECALL: RecallTool(notes)})
        self._reader = reader

    @property
    def fallback(self) -> FallbackCall | None:
        """Return what is done when the planner cannot go on; None for nothing."""
        said = self._loaded.fallback
        return None if said is None else FallbackCall(
            ToolCall(said.tool, said.arguments), said.message)

    def close_notes(self) -> None:
        """Let another planner have the file of the notes."""
        if self._notes is not None:
            self._notes.close()

    def check_fallback(self) -> None:
        """Make the fallback's message, as far as that goes without sending; raises ConfigError."""
        said = self._loaded.fallback
        if said is not None:
            try:
                self._verbs[said.tool].prepare(
                    pass_gate(self._tools[said.tool], said.arguments))
            except Refused as refusal:
                raise ConfigError(
                    f'{self._loaded.files["fallback"]}: fallback: {refusal}') from None

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools in the order of the prompt."""
        return self._loaded.schemas()

    def facts(self, allowed: frozenset[str] | None, cancellation: Cancellation) -> GoalFacts:
        """Read what a goal is told at its start."""
        return NO_FACTS if self._reader is None else self._reader.read(allowed, cancellation)

    def call(self, call: ToolCall, cancellation: Cancellation, *, allowed: frozenset[str] | None,
             dry_run: bool, on_progress: Callable[[str], None],
             facts: GoalFacts = NO_FACTS) -> Observation:
        """Make a call through the gate and wait for what comes of it."""
        try:
            self._gate.check_stop()
            if allowed is not None and call.name not in allowed:
                raise Refused(f'this goal may not call {call.name!r}')
            if call.name in self._own:
                return self._own[call.name].call(call.arguments, cancellation, dry_run)
            if call.name in self._tools:
                check_choices(call, self._tools[call.name], facts)
            if call.name == WAIT and self._builtins.wait:
                return self._wait(call, cancellation, dry_run)
            if call.name == COMPARE and self._builtins.compare:
                return succeeded(compare(call.arguments))
            return self._call(call, cancellation, dry_run, on_progress)
        except Refused as refusal:
            return failed(f'refused: {refusal}', Status.REFUSED)
        except Exception as error:
            # Fail closed: nothing of ours may let a call through or end the node.
            logger.exception('tool %s', call.name)
            return failed(f'refused: {type(error).__name__} in the planner: {error}',
                          Status.REFUSED)

    def _call(self, call: ToolCall, cancellation: Cancellation, dry_run: bool,
              on_progress: Callable[[str], None]) -> Observation:
        tool, verb = self._tools.get(call.name), self._verbs.get(call.name)
        if tool is None or verb is None:
            raise Refused(f'there is no tool {call.name!r}')
        passage = pass_gate(tool, call.arguments)
        message = verb.prepare(passage)
        self._gate.admit(call.name)
        if dry_run and tool.effect == 'act':
            return Observation(Status.DRY_RUN, canonical_json(tool.dry_run_result))
        if not cancellation.canceled:
            self._gate.confirm(call, tool, lambda: verb.target, cancellation)
        if cancellation.canceled:
            return failed('canceled before it was sent', Status.CANCELED)
        running = CallCancellation(cancellation, lambda: self._gate.why_broken(call.name))
        try:
            return verb.send(message, passage, running, on_progress)
        except Refused:
            raise
        except Exception as error:
            # It may have reached the robot, so it must not look like a refusal.
            logger.exception('tool %s', call.name)
            return failed(f'it is not known what came of it: {type(error).__name__}: {error}')
        finally:
            running.close()

    def _wait(self, call: ToolCall, cancellation: Cancellation, dry_run: bool) -> Observation:
        seconds = call.arguments.get('seconds')
        if not isinstance(seconds, (int, float)) or not 0 <= seconds <= self._builtins.wait:
            raise Refused(f'argument seconds must be in 0 … {self._builtins.wait:g}')
        if dry_run:
            return Observation(Status.DRY_RUN, canonical_json({'waited': seconds}))
        if self._let_pass(cancellation, float(seconds)):
            return failed('canceled while waiting', Status.CANCELED)
        return succeeded({'waited': seconds})
