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

"""How often a tool, or all tools together, may be called."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
import time

from pydantic import BaseModel, ConfigDict, Field


class RateLimit(BaseModel):
    """At most so many calls in any period of so many seconds."""

    model_config = ConfigDict(extra='forbid', strict=True, frozen=True, allow_inf_nan=False)

    calls: int = Field(ge=1, le=10000)
    seconds: float = Field(gt=0, le=86400)


class CallCounter:
    """
    Counts calls against a limit.

    :param what: is limited, for the model
    :param clock: steady
    """

    def __init__(self, what: str, limit: RateLimit,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._limit = limit
        self._clock = clock
        self._times: deque[float] = deque(maxlen=limit.calls)

    def why_not(self) -> str:
        """Return why another call is one too many; empty if it is not."""
        if len(self._times) < self._limit.calls:
            return ''
        wait = self._times[0] + self._limit.seconds - self._clock()
        if wait <= 0:
            return ''
        return (f'{self._limit.calls} calls of {self._what} in {self._limit.seconds:g} s are '
                f'allowed; the next one in {wait:.1f} s')

    def count(self) -> None:
        """Count a call that is made now."""
        self._times.append(self._clock())


def count_call(counters: Iterable[CallCounter]) -> str:
    """
    Count a call in all counters, or in none if one of them does not allow it.

    :returns: why it is not allowed; empty if it is
    """
    counters = list(counters)
    for counter in counters:
        if why := counter.why_not():
            return why
    for counter in counters:
        counter.count()
    return ''
