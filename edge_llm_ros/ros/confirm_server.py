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

"""Asks people about calls on ~/confirm_request and takes their answers with ~/confirm."""

from __future__ import annotations

import time
from typing import Any

from builtin_interfaces.msg import Time
from edge_llm_interfaces.msg import ConfirmRequest
from edge_llm_interfaces.srv import Confirm
from edge_llm_ros.ros.conversions import duration
from edge_llm_ros.ros.qos import LATCHED
from edge_llm_ros.tools.confirmation import ConfirmationRequest, Confirmations


class ConfirmServer:
    """
    Connects confirmations to ROS.

    :param node: that owns publisher and service
    :param group: reentrant callback group
    """

    def __init__(self, node: Any, group: Any) -> None:
        self._logger = node.get_logger()
        self._publisher = node.create_publisher(
            ConfirmRequest, '~/confirm_request', LATCHED, callback_group=group)
        self.confirmations = Confirmations(self._ask)
        self._service = node.create_service(
            Confirm, '~/confirm', self._on_answer, callback_group=group)

    def _ask(self, request: ConfirmationRequest) -> None:
        nanoseconds = time.time_ns() + round(request.seconds * 1e9)
        self._logger.info(
            f'a person must allow {request.tool} {request.arguments} (call {request.call_id})')
        self._publisher.publish(ConfirmRequest(
            call_id=request.call_id, tool=request.tool, target=request.target,
            arguments=request.arguments.replace('\0', '\ufffd'),
            deadline=Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9),
            timeout=duration(request.seconds)))

    def _on_answer(self, request: Any, response: Any) -> Any:
        try:
            why = self.confirmations.answer(request.call_id, request.allow)
        except Exception as error:
            # It would end the executor.
            why = f'{type(error).__name__}: {error}'
        response.success, response.message = not why, why
        self._logger.info(f'answer to call {request.call_id}: '
                          f'{why or ("allowed" if request.allow else "not allowed")}')
        return response
