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

"""The format of a tool file; everything a person can write, and nothing else."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from edge_llm_ros.tools.argument import Argument
from edge_llm_ros.tools.builtins import Builtins
from edge_llm_ros.tools.condition import ConditionText
from edge_llm_ros.tools.fallback import Fallback
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.names import Name, ToolName
from edge_llm_ros.tools.rate_limit import RateLimit
from edge_llm_ros.tools.readings import Readings
from edge_llm_ros.tools.result_field import ResultField
from edge_llm_ros.tools.strict_model import StrictModel
from edge_llm_ros.tools.virtual_argument import written_fields
from pydantic import Field, field_validator, model_validator

_RESOURCE = re.compile(r'(~/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
_INTERFACE = re.compile(r'[a-z][a-z0-9_]*/(msg|srv|action)/[A-Z][A-Za-z0-9]*')


class _Interface(StrictModel):
    kind: ClassVar[str] = 'msg'
    type: str

    @field_validator('type')
    @classmethod
    def _is_type(cls, value: str) -> str:
        found = _INTERFACE.fullmatch(value)
        if not found or found[1] != cls.kind:
            raise ValueError(f'{value!r} is not an interface like package/{cls.kind}/Name')
        return value


def _relative(value: str) -> str:
    if not _RESOURCE.fullmatch(value):
        raise ValueError(
            f'{value!r} is not a relative ROS name: no leading "/", so that namespaces and remaps '
            'work'
        )
    return value


class ServiceVerb(_Interface):
    """Call a service."""

    kind: ClassVar[str] = 'srv'
    name: str
    _relative = field_validator('name')(_relative)


class ActionVerb(_Interface):
    """Send an action goal and wait for its result."""

    kind: ClassVar[str] = 'action'
    name: str
    _relative = field_validator('name')(_relative)


class PublishVerb(_Interface):
    """
    Publish a message, once or at a rate.

    :param rate: messages a second; 0 for one message
    :param duration: seconds of a rate publish, or the name of the argument that says them
    :param stop: request fields of the message that ends a rate publish; all zero where left out
    """

    topic: str
    rate: float = Field(default=0.0, ge=0, le=100)
    duration: float | str | None = None
    stop: dict[str, Any] = Field(default_factory=dict)
    latched: bool = False
    _relative = field_validator('topic')(_relative)

    @model_validator(mode='after')
    def _bounded(self) -> PublishVerb:
        if (self.rate > 0) != (self.duration is not None):
            raise ValueError('rate and duration belong together: a rate publish must end')
        if isinstance(self.duration, float) and not 0 < self.duration <= 60:
            raise ValueError(f'duration {self.duration:g} is not in 0 … 60 seconds')
        return self


class ReadVerb(_Interface):
    """
    Read the latest message of a topic.

    :param max_age: seconds since it was received; older ones are not told
    :param latched: whether the publisher keeps its last message for late subscribers; it is told
        whatever its age, since it is published on a change only
    """

    topic: str
    max_age: float = Field(default=2.0, gt=0)
    latched: bool = False
    _relative = field_validator('topic')(_relative)


class Tool(StrictModel):
    """
    One tool; exactly one of service, action, publish and read.

    :param rate_limit: how often it may be called
    :param requires: conditions on signals that must hold when it is called
    :param watched: conditions that must hold while its action or its rate publish lasts, too
    :param confirm: whether a person must allow its calls
    :param confirm_timeout: seconds that the person has; no answer means no
    :param group: of tools that serve one end, which a router can choose; a tool without one is
        there whatever it chooses
    """

    description: str = Field(min_length=1)
    effect: Literal['read', 'act']
    service: ServiceVerb | None = None
    action: ActionVerb | None = None
    publish: PublishVerb | None = None
    read: ReadVerb | None = None
    arguments: dict[Name, Argument] = Field(default_factory=dict, max_length=32)
    fixed: dict[str, Any] = Field(default_factory=dict)
    result: list[str] | dict[str, ResultField] = Field(default_factory=list)
    timeout: float = Field(default=10.0, gt=0, le=3600)
    dry_run_result: dict[str, Any] = Field(default_factory=lambda: {'success': True})
    rate_limit: RateLimit | None = None
    requires: list[ConditionText] = Field(default_factory=list, max_length=16)
    watched: list[ConditionText] = Field(default_factory=list, alias='while', max_length=16)
    confirm: Literal['always', 'first_in_goal', 'never'] = 'never'
    confirm_timeout: float = Field(default=30.0, gt=0, le=3600)
    group: Name | None = None

    @model_validator(mode='after')
    def _watched_lasts(self) -> Tool:
        if self.watched and not self.action and not (self.publish and self.publish.rate):
            raise ValueError('while is for an action or a publish at a rate, which last; '
                             'use requires')
        return self

    def result_fields(self) -> dict[str, ResultField]:
        """Return what the model is told, by name; a path's last part is its name."""
        if isinstance(self.result, list):
            return {path.split('.')[-1]: ResultField(field=path) for path in self.result}
        return self.result

    @model_validator(mode='after')
    def _one_verb(self) -> Tool:
        verbs = [name for name in ('service', 'action', 'publish', 'read') if getattr(self, name)]
        if len(verbs) != 1:
            raise ValueError(
                'exactly one of service, action, publish and read is needed, not '
                f'{verbs or "none"}'
            )
        if self.publish and self.effect != 'act':
            raise ValueError('publishing is an act: effect must be act')
        if self.read and not self.result:
            raise ValueError('a read needs result: the fields that the model is told')
        if self.read and (self.effect != 'read' or self.arguments or self.fixed):
            raise ValueError('a read has effect read, no arguments and no fixed fields')
        return self

    @model_validator(mode='after')
    def _one_writer_a_field(self) -> Tool:
        writers: list[tuple[str, str]] = [('fixed', path) for path in flat(self.fixed)]
        duration = self.publish.duration if self.publish else None
        for name, argument in self.arguments.items():
            if name != duration:
                writers += [(name, path) for path in sorted(written_fields(name, argument))]
        for i, (writer, path) in enumerate(writers):
            for other, taken in writers[:i]:
                if other != writer and f'{path}.'.startswith(f'{taken}.') or (
                        other != writer and f'{taken}.'.startswith(f'{path}.')):
                    raise ValueError(f'{writer} and {other} both set the field {path!r}')
        return self

    @model_validator(mode='after')
    def _bounded_duration(self) -> Tool:
        duration = self.publish.duration if self.publish else None
        if isinstance(duration, str):
            argument = self.arguments.get(duration)
            if argument is None or argument.type not in (None, 'number', 'integer'):
                raise ValueError(f'publish.duration: there is no number argument {duration!r}')
            if argument.maximum is None or argument.maximum > 60 or (argument.minimum or 0) < 0:
                raise ValueError(
                    f'publish.duration: argument {duration!r} needs minimum >= 0 and maximum <= 60'
                )
        return self


class ToolFile(StrictModel):
    """
    A tool file.

    :param version: of the format
    :param builtins: the planner's own tools; of several files, the last that says it counts
    :param context_from: readings that the model is told at the start of each goal
    :param signals: topics that conditions are about, by the names that the conditions use
    :param rate_limit: of all tools together
    :param fallback: what is done when the planner cannot go on; of several files, the last that
        says it counts
    :param tools: by name, in the order of the prompt
    """

    version: Literal[1]
    builtins: Builtins = Builtins()
    context_from: Readings = Field(default_factory=dict, max_length=16)
    signals: dict[Name, ReadVerb] = Field(default_factory=dict, max_length=64)
    rate_limit: RateLimit | None = None
    fallback: Fallback | None = None
    tools: dict[ToolName, Tool] = Field(max_length=256)
