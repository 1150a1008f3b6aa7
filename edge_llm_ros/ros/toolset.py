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

"""The tools of a planner, connected to ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ASK_PERSON, LOOK_AROUND
from edge_llm_ros.ros.action_verb import ActionCall
from edge_llm_ros.ros.argument_types import request_class, resolved_tools
from edge_llm_ros.ros.ask_person import AskPerson
from edge_llm_ros.ros.goal_journal import GoalJournal
from edge_llm_ros.ros.publish_verb import Publish
from edge_llm_ros.ros.read_verb import Read
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.ros.service_verb import ServiceCall
from edge_llm_ros.ros.signals import TopicSignals
from edge_llm_ros.ros.sources import source_reader
from edge_llm_ros.ros.streams import Streams
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.confirmation import Confirmations
from edge_llm_ros.tools.gate import Gate
from edge_llm_ros.tools.goal_facts import FactsReader, SourceReader
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.look_around import LookAroundTool
from edge_llm_ros.tools.readings import Reading, Source
from edge_llm_ros.tools.stop_latch import StopLatch
from edge_llm_ros.tools.toolset import GatedToolset, OwnTool
from rclpy.impl.implementation_singleton import rclpy_implementation

VERBS: Mapping[str, Callable[..., Any]] = {
    'service': ServiceCall, 'action': ActionCall, 'publish': Publish, 'read': Read}


class RosToolset(GatedToolset):
    """
    The gated tools with a client, publisher or subscription each, made once.

    What does not fit what is on the graph already is logged as a warning.

    :param node: that owns them
    :param group: their callback group; reentrant, so that no call waits for another
    :param latch: set by an operator's stop; one of its own where left out
    :param journal: remembers what goes on; in memory only where left out
    :param confirmations: ask a person; where left out, calls that need one are refused
    :param notes_file: keeps notes across restarts; in memory only where left out
    :raises ConfigError: if a tool does not fit its interface, or would call this node itself; what
        was made is given back
    """

    def __init__(self, node: Any, group: Any, loaded: LoadedTools, *,
                 latch: StopLatch | None = None, journal: GoalJournal | None = None,
                 confirmations: Confirmations | None = None,
                 notes_file: Path | None = None) -> None:
        loaded = resolved_tools(loaded)
        loaded.check_bounds()
        self.loaded = loaded
        self._clock = node.get_clock()
        self._made: dict[str, Any] = {}
        self._sources: list[Any] = []
        self._signals: TopicSignals | None = None
        self._logger = node.get_logger()
        latch = latch or StopLatch()
        self._streams = Streams()
        wiring = Wiring(node, group, self._streams, latch, journal or GoalJournal())
        try:
            context = self._readers(wiring, loaded.context_from, loaded.files)
            values = {(name, key): self._source(
                wiring, argument.values_from,
                f'{loaded.files[name]}: tools.{name}.arguments.{key}.values_from')
                for name, tool in loaded.tools.items()
                for key, argument in tool.arguments.items() if argument.values_from is not None}
            own = self._own_tools(wiring, loaded)
            for name, tool in loaded.tools.items():
                kind = next(verb for verb in VERBS if getattr(tool, verb) is not None)
                where = f'{loaded.files[name]}: tools.{name}'
                try:
                    self._made[name] = VERBS[kind](wiring, tool, where)
                except rclpy_implementation.RCLError as error:
                    # Such as two tools that give one topic different types.
                    raise ConfigError(f'{where}: cannot be connected: {error}') from error
                _check_target(node, self._made[name].target, where)
            self._signals = TopicSignals(node, self._streams, loaded)
            for name, verb in self._made.items():
                if text := verb.mismatch():
                    self._logger.warning(f'{loaded.files[name]}: tools.{name}: {text}')
            for text in self._signals.mismatches():
                self._logger.warning(text)
            gate = Gate(loaded.tools, loaded.rate_limits, latch, self._signals, confirmations)
            super().__init__(loaded, dict(self._made), gate, own,
                             FactsReader(loaded, context, values), notes_file=notes_file)
            self.check_fallback()
        except BaseException:
            self.destroy()
            raise

    def _source(self, wiring: Wiring, source: Source, where: str) -> SourceReader:
        self._sources.append(source_reader(wiring, source, where))
        return self._sources[-1]

    def _readers(self, wiring: Wiring, readings: Mapping[str, Reading], files: Mapping[str, str],
                 key: str = 'context_from') -> dict[str, SourceReader]:
        return {name: self._source(wiring, reading,
                                   f'{files.get(f"{key}.{name}") or files.get("builtins")}: '
                                   f'{key}.{name}') for name, reading in readings.items()}

    def _own_tools(self, wiring: Wiring, loaded: LoadedTools) -> dict[str, OwnTool]:
        own: dict[str, OwnTool] = {}
        settings = loaded.builtins.look_around
        if settings is not None:
            own[LOOK_AROUND] = LookAroundTool(settings, self._readers(
                wiring, settings.readings, loaded.files, 'builtins.look_around.readings'))
        if loaded.builtins.ask_person:
            asking = AskPerson(wiring.node, wiring.group, loaded.builtins.ask_person)
            self._sources.append(asking)
            own[ASK_PERSON] = asking
        return own

    def unexposed(self, name: str) -> Mapping[str, Any]:
        """Return the fields of a tool's message that no argument sets, with what they hold."""
        tool = self.loaded.tools[name]
        where = f'{self.loaded.files[name]}: tools.{name}'
        asked = request_class(tool, where)
        return {} if asked is None else RequestMaker(
            tool, asked, where, self._clock).unexposed()

    def stop(self) -> list[str]:
        """
        Cancel every goal that goes on and publish every stop message.

        :returns: what was done, in words
        """
        done = []
        for name, verb in self._made.items():
            try:
                done.append(verb.stop())
            except Exception as error:
                # The others must be stopped all the same.
                self._logger.error(f'tools.{name}: cannot be stopped: {error}')
        return [text for text in done if text]

    def stopping_publishers(self) -> list[Publish]:
        """Return the tools that have a stop message."""
        return [v for v in self._made.values() if isinstance(v, Publish) and v.stops]

    def destroy(self) -> None:
        """Give everything back; no call may be running."""
        self.close_notes()
        self._streams.close()
        if self._signals is not None:
            self._signals.destroy()
            self._signals = None
        for made in (*self._made.values(), *self._sources):
            made.destroy()
        self._made.clear()
        self._sources.clear()


def _check_target(node: Any, target: str, where: str) -> None:
    """
    Refuse a tool that would call the planner itself, such as to confirm its own calls.

    :param target: verb, resolved name and type
    """
    name = target.split()[1]
    own = node.get_fully_qualified_name()
    if name == own or name.startswith(f'{own}/'):
        raise ConfigError(
            f"{where}: {name} is the planner's own; no tool may call the planner itself, which "
            f'could then confirm its own calls or release a stop.')
