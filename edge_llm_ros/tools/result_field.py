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

"""One thing of a response that the model is told."""

from __future__ import annotations

import re
from typing import Literal

from edge_llm_ros.tools.strict_model import StrictModel
from pydantic import Field, field_validator, model_validator


ANSWER_FIELDS = ('success', 'message')  # in which a response says whether it worked, and why not
_LONGEST = 1000  # characters of a text in which a pattern is looked for


class ResultField(StrictModel):
    """
    One thing that the model is told.

    :param field: path in the response, with dots
    :param scale: factor for numbers
    :param digits: decimals that are kept
    :param pattern: what a text has to begin with; the model is told that, and nothing after it
    :param unit_of_model: degrees of an angle in radians, or of a quaternion's yaw
    """

    field: str
    scale: float = 1.0
    digits: int | None = Field(default=None, ge=0, le=9)
    pattern: str | None = Field(default=None, min_length=1, max_length=200)
    unit_of_model: Literal['degrees', 'yaw_degrees'] | None = Field(default=None, alias='as')

    @model_validator(mode='after')
    def _one_unit(self) -> ResultField:
        if self.unit_of_model is not None and self.scale != 1.0:
            raise ValueError('give scale or as, not both')
        return self

    @field_validator('pattern')
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or '')
        except re.error as error:
            raise ValueError(f'pattern is no regular expression: {error}') from None
        return pattern

    def told(self, text: str) -> str | None:
        """Return what of a text the model is told; None where it is not what was expected."""
        if self.pattern is None:
            return text
        found = re.match(self.pattern, text[:_LONGEST])
        return None if found is None else found.group()
