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

"""What the ways to the robot are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edge_llm_ros.ros.goal_journal import GoalJournal
from edge_llm_ros.ros.streams import Streams
from edge_llm_ros.tools.stop_latch import StopLatch


@dataclass(frozen=True)
class Wiring:
    """
    What all tools of a planner share.

    :param node: that owns clients, publishers and subscriptions
    :param group: their callback group, where an executor waits for them
    :param streams: looks at what is read
    :param latch: lets messages leave
    :param journal: remembers what goes on
    """

    node: Any
    group: Any
    streams: Streams
    latch: StopLatch
    journal: GoalJournal
