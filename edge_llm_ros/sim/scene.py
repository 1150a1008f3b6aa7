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

"""How the simulated world differs from what it is by itself; nothing, if a scene is empty."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class Failure(_Strict):
    """
    A service that fails, or drives that end on the way.

    :param times: how often, before it works; -1 for always
    :param message: what it answers
    """

    times: int = Field(default=1, ge=-1)
    message: str = Field(default='the hardware reports a fault', min_length=1)


class Scene(_Strict):
    """
    A scene; what it leaves out is as the seed and the robot's parameters say.

    :param seed: of temperatures and of where objects are
    :param start: the place where the robot stands at first
    :param places: beside those on the map, with their positions [m]
    :param objects: where each is; there are no others then
    :param temperatures: of some places, in degrees Celsius
    :param blocked: places that cannot be reached
    :param failures: by the name of the service, or move_to
    :param notices: texts that the robot reads when it has driven to a place
    :param labels: texts that the robot reads when it grasps an object
    :param charging: of the dock, percent a second
    """

    seed: int | None = None
    start: str = 'dock'
    battery: float | None = Field(default=None, ge=0, le=100)
    gripper: Literal['open', 'closed'] = 'open'
    holding: str = ''
    lights: Literal['on', 'off'] = 'off'
    door: Literal['open', 'closed'] | None = None
    places: dict[str, tuple[float, float]] = Field(default_factory=dict)
    objects: dict[str, str] | None = None
    temperatures: dict[str, float] = Field(default_factory=dict)
    blocked: tuple[str, ...] = ()
    failures: dict[str, Failure] = Field(default_factory=dict)
    notices: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    charging: float = Field(default=1.0, ge=0)
