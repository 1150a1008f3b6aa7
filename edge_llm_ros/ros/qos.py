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

"""Quality of service, by name."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

COMMAND = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LATCHED_BEST_EFFORT = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)
FEEDBACK = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# A stop is taken from every publisher, and a reliable one's is not lost.
STOP = (QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE),
        QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
# Matches every publisher that keeps nothing for late subscribers, reliable or not.
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Every event of a goal reaches a recorder that is a little slow.
EVENTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
