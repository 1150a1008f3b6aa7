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

"""What the planner itself says to the model while a goal runs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

_LONGEST = 600  # characters of a text


class Words(BaseModel):
    """
    Texts that a prompt file can have otherwise.

    :param check: ends the message that asks whether a goal is really reached
    :param check_failed: the same where a call failed and was not made good
    :param once_more: of a call that failed for the first time
    :param another_way: of a call that failed again
    :param repeated: of a call that was made before with the same result
    """

    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)

    check: str = Field(
        'Is every part of the goal in the list of what was done? If a part is missing, make its '
        'call now. If nothing is missing, call finish again.', min_length=1, max_length=_LONGEST)
    check_failed: str = Field(
        'These calls failed. Make them good now, or call finish with success false and say what '
        'failed.', min_length=1, max_length=_LONGEST)
    once_more: str = Field(
        'Make the same call once more, or reach the goal another way.', min_length=1,
        max_length=_LONGEST)
    another_way: str = Field(
        'It failed again: do not repeat it. Reach the goal another way, or call finish with '
        'success false and say what failed.', min_length=1, max_length=_LONGEST)
    repeated: str = Field(
        'This call was made before and had the same result: go on with the next part of the '
        'goal, or call finish.', min_length=1, max_length=_LONGEST)
