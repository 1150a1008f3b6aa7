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

"""Which of the lifecycle services may run at the same time."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup


class TransitionGroup(MutuallyExclusiveCallbackGroup):
    """
    Runs one transition at a time, and answers questions about the state meanwhile.

    rclpy gives all lifecycle services one group. In a mutually exclusive one, ``get_state`` is
    silent while a model loads; in a reentrant one, two transitions would meet.
    """

    def can_execute(self, entity: Any) -> bool:
        """Say whether a callback may run now."""
        return not _is_transition(entity) or super().can_execute(entity)

    def beginning_execution(self, entity: Any) -> bool:
        """Take note that a callback begins; False if it may not."""
        return not _is_transition(entity) or super().beginning_execution(entity)

    def ending_execution(self, entity: Any) -> None:
        """Take note that a callback has ended."""
        if _is_transition(entity):
            super().ending_execution(entity)


def _is_transition(entity: Any) -> bool:
    return getattr(entity, 'srv_type', None) is ChangeState
