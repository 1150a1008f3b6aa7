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

"""What all ways to the robot share: waits that end."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.tool import Observation
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.toolset import failed

WAIT_SLICE = 0.1  # seconds between two looks at the cancellation


def why_not_ready(ready: Callable[[], bool], deadline: float, cancellation: CallCancellation,
                  missing: Callable[[], str]) -> Observation | None:
    """
    Wait until a peer is there.

    :param missing: says what the model is told if it does not come in time
    :returns: None once it is there, else what to tell
    """
    while not cancellation.canceled:
        if ready():
            return None
        if time.monotonic() >= deadline:
            return failed(missing())
        cancellation.wait(WAIT_SLICE)
    return failed(f'{cancellation.why}; nothing was sent', cancellation.status)


def wait_for(future: Any, seconds: float, cancellation: Cancellation | None,
             alive: Callable[[], bool] | None = None) -> bool:
    """
    Wait for an rclpy future from a thread that does not spin.

    :param seconds: at most, on the steady clock
    :param cancellation: ends the wait early; None to wait through a cancel
    :param alive: looked at in every slice of the wait, which ends when it is false
    :returns: whether the future is done
    """
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    deadline = time.monotonic() + seconds
    while not done.is_set():
        left = deadline - time.monotonic()
        if left <= 0 or (cancellation is not None and cancellation.canceled):
            return bool(future.done())
        if alive is not None and not alive():
            return bool(future.done())
        done.wait(min(left, WAIT_SLICE))
    return True
