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

"""Service calls from a script that spins its own node."""

from __future__ import annotations

import json
import time
from typing import Any

from edge_llm_ros.flow.errors import EdgeLlmError
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger


def call(node: Node, kind: Any, name: str, request: Any, seconds: float = 10.0) -> Any:
    """
    Call a service.

    :raises EdgeLlmError: if it is not there or does not answer in time
    """
    client = node.create_client(kind, name)
    try:
        start = time.monotonic()
        if not client.wait_for_service(timeout_sec=seconds):
            raise EdgeLlmError(f'there is no service {name!r}.')
        future = client.call_async(request)
        rclpy.spin_until_future_complete(
            node, future, timeout_sec=max(0.1, seconds - (time.monotonic() - start)))
        if not future.done():
            raise EdgeLlmError(f'no answer from {name!r} within {seconds:g} s.')
        return future.result()
    finally:
        node.destroy_client(client)


def transition(node: Node, target: str, number: int, seconds: float = 120.0) -> bool:
    """Request a lifecycle transition and return whether it worked."""
    request = ChangeState.Request()
    request.transition.id = number
    return bool(call(node, ChangeState, f'{target}/change_state', request, seconds).success)


def set_parameter(node: Node, target: str, name: str, value: Any) -> str:
    """Set a parameter of another node and return the reason if it refused; empty if not."""
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    result = call(node, SetParameters, f'{target}/set_parameters', request).results[0]
    return '' if result.successful else (result.reason or 'refused')


def robot_state(node: Node, robot: str = 'simulated_robot') -> dict[str, Any]:
    """Return the state of the simulated robot, by its own word."""
    for seconds in (5.0, 5.0, 10.0):
        try:
            answer = call(node, Trigger, f'{robot}/state', Trigger.Request(), seconds).message
            break
        except EdgeLlmError:
            # A response is lost where the server has not discovered its reader yet; asking again
            # changes nothing.
            if seconds > 5.0:
                raise
    state: dict[str, Any] = json.loads(answer)
    return state
