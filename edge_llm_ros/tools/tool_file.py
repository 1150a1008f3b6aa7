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
from typing import Any, ClassVar, Literal, TypeVar

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import COMPARE, FINISH, WAIT
from edge_llm_ros.tools.condition import ConditionText
from edge_llm_ros.tools.field_paths import flat
from edge_llm_ros.tools.rate_limit import RateLimit
from edge_llm_ros.tools.strict_yaml import read_yaml
from pydantic import (
    BaseModel, ConfigDict, Field, field_validator, model_validator, ValidationError)

_NAME = re.compile(r'[a-z][a-z0-9_]{0,63}')
_RESOURCE = re.compile(r'(~/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
_INTERFACE = re.compile(r'[a-z][a-z0-9_]*/(msg|srv|action)/[A-Z][A-Za-z0-9]*')

Scalar = bool | int | float | str


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', strict=True, frozen=True, allow_inf_nan=False)


class Argument(_Strict):
    """
    One argument of a tool.

    :param enum: the values that are allowed
    :param values: the words that are allowed, each with the request fields that it stands for
    :param field: path of the request field, with dots; the argument's own name where it is left
        out
    """

    description: str = Field(min_length=1)
    type: Literal['string', 'number', 'integer', 'boolean'] = 'string'
    unit: str = ''
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = Field(default=None, ge=1, le=512)
    enum: list[Scalar] | None = Field(default=None, min_length=1, max_length=256)
    values: dict[str, dict[str, Any]] | None = Field(default=None, min_length=1, max_length=256)
    default: Scalar | None = None
    field: str | None = None

    @model_validator(mode='after')
    def _consistent(self) -> Argument:
        number = self.type in ('number', 'integer')
        if not number and (self.minimum is not None or self.maximum is not None):
            raise ValueError(f'minimum and maximum are for numbers, not for {self.type}')
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f'minimum {self.minimum:g} is above maximum {self.maximum:g}')
        if self.enum is not None and self.values is not None:
            raise ValueError('give enum or values, not both')
        if self.values is not None and (self.type != 'string' or self.field is not None):
            raise ValueError('values needs type string and names its fields itself (no field)')
        for value in [*(self.enum or ()), *([] if self.default is None else [self.default])]:
            self.check(value)
        return self

    def check(self, value: object) -> None:
        """Refuse a value that this argument does not allow; raises ValueError with the reason."""
        kinds: dict[str, tuple[type, ...]] = {
            'string': (str,), 'number': (int, float), 'integer': (int,), 'boolean': (bool,)}
        if not isinstance(value, kinds[self.type]) or (
                isinstance(value, bool) and self.type != 'boolean'):
            raise ValueError(f'{value!r} is not of type {self.type}')
        words = list(self.values) if self.values is not None else self.enum
        if words is not None and value not in words:
            raise ValueError(f'{value!r} is not one of {", ".join(map(str, words))}')
        if isinstance(value, str):
            if self.max_length is not None and len(value) > self.max_length:
                raise ValueError(
                    f'the text has {len(value)} characters, {self.max_length} are allowed')
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            if value != value or value in (float('inf'), float('-inf')):
                raise ValueError(f'{value!r} is not a finite number')
            if self.minimum is not None and value < self.minimum:
                raise ValueError(f'{value!r} is below the minimum {self.minimum:g}')
            if self.maximum is not None and value > self.maximum:
                raise ValueError(f'{value!r} is above the maximum {self.maximum:g}')


class _Interface(_Strict):
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


class ResultField(_Strict):
    """
    One thing that the model is told.

    :param field: path in the response, with dots
    :param scale: factor for numbers
    :param digits: decimals that are kept
    """

    field: str
    scale: float = 1.0
    digits: int | None = Field(default=None, ge=0, le=9)


class Tool(_Strict):
    """
    One tool; exactly one of service, action, publish and read.

    :param rate_limit: how often it may be called
    :param requires: conditions on signals that must hold when it is called
    :param watched: conditions that must hold while its action or its rate publish lasts, too
    :param confirm: whether a person must allow its calls
    :param confirm_timeout: seconds that the person has; no answer means no
    """

    description: str = Field(min_length=1)
    effect: Literal['read', 'act']
    service: ServiceVerb | None = None
    action: ActionVerb | None = None
    publish: PublishVerb | None = None
    read: ReadVerb | None = None
    arguments: dict[str, Argument] = Field(default_factory=dict, max_length=32)
    fixed: dict[str, Any] = Field(default_factory=dict)
    result: list[str] | dict[str, ResultField] = Field(default_factory=list)
    timeout: float = Field(default=10.0, gt=0, le=3600)
    dry_run_result: dict[str, Any] = Field(default_factory=lambda: {'success': True})
    rate_limit: RateLimit | None = None
    requires: list[ConditionText] = Field(default_factory=list, max_length=16)
    watched: list[ConditionText] = Field(default_factory=list, alias='while', max_length=16)
    confirm: Literal['always', 'first_in_goal', 'never'] = 'never'
    confirm_timeout: float = Field(default=30.0, gt=0, le=3600)

    @model_validator(mode='after')
    def _watched_lasts(self) -> Tool:
        if self.watched and not self.action and not (self.publish and self.publish.rate):
            raise ValueError('while is for an action or a publish at a rate, which last; '
                             'use requires')
        return self

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
            paths = {argument.field or name}
            if argument.values is not None:
                paths = {path for fields in argument.values.values() for path in flat(fields)}
            writers += [(name, path) for path in paths if name != duration]
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
            if argument is None or argument.type not in ('number', 'integer'):
                raise ValueError(f'publish.duration: there is no number argument {duration!r}')
            if argument.maximum is None or argument.maximum > 60 or (argument.minimum or 0) < 0:
                raise ValueError(
                    f'publish.duration: argument {duration!r} needs minimum >= 0 and maximum <= 60'
                )
        return self


class Builtins(_Strict):
    """
    Tools that need no ROS.

    :param finish: whether the model can end a goal; without it, goals end by a limit
    :param wait: seconds that the model may wait at most; 0 for no such tool
    :param compare: whether the model can have two numbers compared, which small models do badly
    """

    finish: bool = True
    compare: bool = True
    wait: float = Field(default=30.0, ge=0, le=600)


class ToolFile(_Strict):
    """
    A tool file.

    :param signals: topics that conditions are about, by the names that the conditions use
    :param rate_limit: of all tools together
    """

    version: Literal[1]
    builtins: Builtins = Builtins()
    signals: dict[str, ReadVerb] = Field(default_factory=dict, max_length=64)
    rate_limit: RateLimit | None = None
    tools: dict[str, Tool] = Field(max_length=256)

    @field_validator('tools')
    @classmethod
    def _names(cls, tools: dict[str, Tool]) -> dict[str, Tool]:
        for name, tool in tools.items():
            for what in (name, *tool.arguments):
                if not _NAME.fullmatch(what):
                    raise ValueError(
                        f'{what!r} is not a name of lowercase letters, digits and "_"')
            if name in (FINISH, WAIT, COMPARE):
                raise ValueError(f'{name!r} is built in; choose another name')
        return tools

    @field_validator('signals')
    @classmethod
    def _signal_names(cls, signals: dict[str, ReadVerb]) -> dict[str, ReadVerb]:
        for name in signals:
            if not _NAME.fullmatch(name):
                raise ValueError(f'{name!r} is not a name of lowercase letters, digits and "_"')
        return signals


_PLAIN_WORDS = {
    'Field required': 'is missing',
    'Extra inputs are not permitted': 'is not a key here',
    'Input should be a valid dictionary': 'a mapping is needed, such as {data: true}',
}

FileModel = TypeVar('FileModel', bound=BaseModel)


def read_file(path: str, model: type[FileModel]) -> FileModel:
    """
    Read a YAML file of a given format.

    :raises ConfigError: that names file and key for each thing that is wrong
    """
    try:
        return model.model_validate(read_yaml(path))
    except ValidationError as error:
        lines = []
        for problem in error.errors()[:20]:
            where = '.'.join(str(part) for part in problem['loc']) or 'the file'
            text = problem['msg'].removeprefix('Value error, ')
            lines.append(f'{path}: {where}: {_PLAIN_WORDS.get(text, text)}')
        raise ConfigError('\n'.join(lines)) from None
