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

"""A node of a command, spun in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import threading
from typing import Any

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions


@contextmanager
def live_node(namespace: str = '/', *, spin: bool = True) -> Iterator[Any]:
    """Make a node and spin it until the block ends; SIGINT reaches Python."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node('edge_llm_tools', namespace=namespace)
        if not spin:
            yield node
            return
        executor = MultiThreadedExecutor(num_threads=2)
        executor.add_node(node)
        spinning = threading.Thread(target=_spin, args=(executor,), daemon=True)
        spinning.start()
        try:
            yield node
        finally:
            executor.shutdown(timeout_sec=2.0)
            rclpy.try_shutdown()
            spinning.join(2.0)
    finally:
        rclpy.try_shutdown()


def _spin(executor: MultiThreadedExecutor) -> None:
    while rclpy.ok():
        try:
            executor.spin()
            return
        except ExternalShutdownException:
            return
        except InvalidHandle:
            # What is given back while it is waited for raises here (rclpy issues 1142 and 1355).
            continue
