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

"""What no executor waits for: its user looks at it, or waits for it in a thread of his own."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation


class UnspunGroup(CallbackGroup):
    """
    Keeps what is in it out of an executor's reach.

    For each message rclpy looks several times at everything that an executor waits for, and a
    planner has some seventy things: a message costs a millisecond, and a response that is awaited
    comes milliseconds late.
    """

    def can_execute(self, entity: Any) -> bool:
        """Say that a callback may never run."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Say that a callback may not begin."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing: none began."""


def wait_for_response(client: Any, seconds: float) -> None:
    """Wait until a client of such a group may have a response, or the time is over."""
    with client.handle, client.context.handle:
        wait_set = rclpy_implementation.WaitSet(0, 0, 0, 1, 0, 0, client.context.handle)
        wait_set.clear_entities()
        wait_set.add_client(client.handle)
        wait_set.wait(max(0, int(seconds * 1e9)))
