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

"""Spins that go on whatever happens to what they wait for."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException


def keep_spinning(spin: Callable[[], None], going: Callable[[], bool],
                  on_error: Callable[[], None]) -> None:
    """
    Spin again and again, until the context is shut down.

    :param spin: waits for what an executor waits for, and calls its callbacks
    :param going: whether to go on
    :param on_error: told of a callback's exception, while that is being handled
    """
    while going():
        try:
            spin()
        except ExternalShutdownException:
            return
        except InvalidHandle:
            # What is given back while it is waited for raises here (rclpy issues 1142 and 1355).
            continue
        except Exception:
            on_error()
