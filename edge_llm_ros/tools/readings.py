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

"""What a tool file says about readings: from where, which field, how old they may be."""

from __future__ import annotations

import re

from edge_llm_ros.tools.names import Name
from edge_llm_ros.tools.strict_model import StrictModel
from pydantic import Field, field_validator, model_validator

_RESOURCE = re.compile(r'(~/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
_INTERFACE = re.compile(r'[a-z][a-z0-9_]*/(msg|srv)/[A-Z][A-Za-z0-9]*')
_PATH = re.compile(r'[a-z]\w*(\[\])?(\.[a-z]\w*(\[\])?)*')


class Source(StrictModel):
    """
    A field of a topic's latest message, or of a service's response to an empty request.

    :param topic: relative name of the topic; either this or service
    :param service: relative name of the service
    :param type: interface, such as std_msgs/msg/String or std_srvs/srv/Trigger
    :param field: path of the field, with dots; [] after a list takes each of its items, as in
        detections[].name
    :param max_age: seconds since the message was received; older ones are not told
    :param latched: whether the topic keeps its last message for late subscribers; it is told
        whatever its age
    :param timeout: seconds that a goal waits for the reading at most
    """

    topic: str | None = Field(default=None, max_length=256)
    service: str | None = Field(default=None, max_length=256)
    type: str
    field: str = Field(max_length=256)
    max_age: float = Field(default=2.0, gt=0)
    latched: bool = False
    timeout: float = Field(default=1.0, gt=0, le=10)

    @field_validator('topic', 'service')
    @classmethod
    def _is_relative(cls, value: str | None) -> str | None:
        if value is not None and not _RESOURCE.fullmatch(value):
            raise ValueError(f'{value!r} is not a relative ROS name: no leading "/", so that '
                             'namespaces and remaps work')
        return value

    @field_validator('field')
    @classmethod
    def _is_path(cls, value: str) -> str:
        if not _PATH.fullmatch(value):
            raise ValueError(f'{value!r} is not a path such as pose.position.x or objects[].name')
        return value

    @model_validator(mode='after')
    def _one_source(self) -> Source:
        if (self.topic is None) == (self.service is None):
            raise ValueError('give either topic or service')
        found = _INTERFACE.fullmatch(self.type)
        kind = 'msg' if self.topic is not None else 'srv'
        if not found or found[1] != kind:
            raise ValueError(f'type: {self.type!r} is not an interface like package/{kind}/Name')
        if self.latched and self.service is not None:
            raise ValueError('latched is for topics')
        return self

    @property
    def name(self) -> str:
        """Return the name of the topic or service."""
        return self.topic or self.service or ''


class Reading(Source):
    """
    A reading that the model is told.

    :param scale: factor for numbers
    :param digits: decimals that are kept
    :param unit: put behind the number, as in 87 %
    """

    scale: float = 1.0
    digits: int | None = Field(default=None, ge=0, le=9)
    unit: str = Field(default='', max_length=16)


class ValuesFrom(Source):
    """
    Values of an argument that are read anew at the start of each goal.

    :param most: values at most; more are left out, and the model is told so
    """

    most: int = Field(default=32, ge=1, le=256)


Readings = dict[Name, Reading]
