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

"""Takes an operator's stop and its release, in every state of the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edge_llm_ros.ros.qos import STOP
from edge_llm_ros.tools.stop_latch import StopLatch
from std_msgs.msg import Empty
from std_srvs.srv import Trigger


class StopServer:
    """
    Serves ``~/stop``, as a service and as a topic, and ``~/release``.

    :param node: that owns them
    :param group: reentrant callback group
    :param latch: that is set and released
    :param stop: ends goals and stops the robot once nothing leaves any more; returns what it did
    :param remember: keeps a stop beyond the death of the process
    """

    def __init__(self, node: Any, group: Any, latch: StopLatch, stop: Callable[[], str],
                 remember: Callable[[bool], None]) -> None:
        self._logger = node.get_logger()
        self._latch = latch
        self._stop = stop
        self._remember = remember
        self._made = [
            node.create_service(Trigger, '~/stop', self._on_stop, callback_group=group),
            node.create_service(Trigger, '~/release', self._on_release, callback_group=group),
            *(node.create_subscription(
                Empty, '~/stop', self._on_stop_message, profile, callback_group=group)
              for profile in STOP)]

    def stop(self) -> str:
        """Stop the robot; returns what was done."""
        self._latch.engage()
        try:
            done = self._stop()
            self._remember(True)
        except Exception as error:
            done = f'nothing leaves any more, but {type(error).__name__}: {error}'
            self._logger.error(f'stop: {done}')
        self._logger.warning(f'stopped by an operator: {done}')
        return done

    def _on_stop(self, request: Any, response: Any) -> Any:
        response.success, response.message = True, self.stop()
        return response

    def _on_stop_message(self, message: Any) -> None:
        self.stop()

    def _on_release(self, request: Any, response: Any) -> Any:
        response.success = self._latch.release()
        response.message = '' if response.success else 'nothing was stopped'
        try:
            self._remember(False)
        except Exception as error:
            self._logger.error(f'release: {type(error).__name__}: {error}')
        self._logger.warning('released by an operator')
        return response
