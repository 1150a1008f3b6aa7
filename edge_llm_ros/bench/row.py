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

"""Figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
import statistics


@dataclass(frozen=True)
class Row:
    """
    One figure.

    :param arm: what was measured
    :param median: NaN where it cannot be measured here
    :param n: how many values the median is of
    """

    workload: str
    arm: str
    metric: str
    median: float
    p95: float
    n: int
    unit: str


def row(workload: str, arm: str, metric: str, values: Sequence[float], unit: str) -> Row:
    """Return the figure of some values; of none, or of one that is not known, an empty one."""
    if not values or any(map(math.isnan, values)):
        return Row(workload, arm, metric, math.nan, math.nan, 0, unit)
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1) + 0.499))]
    return Row(workload, arm, metric, float(statistics.median(ordered)), float(p95),
               len(ordered), unit)
