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

"""A node of a command, and the thread that spins it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import threading
import traceback
from typing import Any

from edge_llm_ros.ros.spinning import keep_spinning
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions


@contextmanager
def live_node(namespace: str = '/') -> Iterator[Any]:
    """Make a node that nothing spins yet; SIGINT reaches Python."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield rclpy.create_node('edge_llm_tools', namespace=namespace)
    finally:
        rclpy.try_shutdown()


@contextmanager
def spun(node: Any) -> Iterator[None]:
    """
    Spin a node until the block ends.

    What the block uses is given back after it: an entity that goes while a callback of it runs
    leaves a complaint on the terminal. So does an executor that is shut down while it
    spins: rclpy does not wait for callbacks that have begun.
    """
    executor, done = SingleThreadedExecutor(), threading.Event()
    executor.add_node(node)
    spinning = threading.Thread(target=keep_spinning, daemon=True, args=(
        lambda: executor.spin_once(timeout_sec=0.1),
        lambda: rclpy.ok() and not done.is_set(), traceback.print_exc))
    spinning.start()
    try:
        yield
    finally:
        done.set()
        spinning.join(5.0)
        executor.shutdown(timeout_sec=2.0)
