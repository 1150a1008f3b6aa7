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

"""
A process that writes down every message that reaches it, by topic, service or action.

Each is a line of JSON: where it came in, and all its fields, floats in hexadecimal so that none is
rounded. It shares no code with the planner: it is the planner's judge.
"""

import importlib
import json
import sys
from typing import Any

import rclpy
from rclpy.action import ActionServer
from rclpy.node import Node
from rclpy.qos import QoSProfile

READY = 'ready'


def dump(value: Any) -> Any:
    """Return a field or a message as JSON that loses nothing."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: dump(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return {'byte': list(value)}
    if isinstance(value, float):
        return {'float': value.hex()}
    if isinstance(value, (bool, int, str)):
        return value
    return [dump(item) for item in (value.tolist() if hasattr(value, 'tolist') else value)]


def write(name: str, message: Any) -> None:
    """Write a line."""
    print(json.dumps([name, dump(message)]), flush=True)


def listen(node: Node, name: str, kind: str) -> Any:
    """Open a topic, a service or an action of this name."""
    package, group, type_name = kind.split('/')
    interface = getattr(importlib.import_module(f'{package}.{group}'), type_name)
    if group == 'msg':
        return node.create_subscription(interface, name, lambda m: write(name, m),
                                        QoSProfile(depth=100))

    def serve(request: Any, response: Any) -> Any:
        write(name, request)
        return response

    def execute(handle: Any) -> Any:
        write(name, handle.request)
        handle.succeed()
        return interface.Result()

    if group == 'srv':
        return node.create_service(interface, name, serve)
    return ActionServer(node, interface, name, execute)


def main() -> None:
    """Listen to the names and types of the command line until the input ends."""
    rclpy.init()
    node = rclpy.create_node('echo_peer')
    servers = [listen(node, *argument.split('=')) for argument in sys.argv[1:]]
    print(json.dumps([READY, len(servers)]), flush=True)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass


if __name__ == '__main__':
    main()
