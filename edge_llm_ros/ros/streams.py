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

"""Topics that never pause, kept away from what the planner's executor waits for."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile


class Streams:
    """
    Subscribes to topics on a node and in a thread of their own.

    rclpy looks at all that an executor waits for, three times for each message. The planner's
    own has some seventy things, and a battery that tells its charge twenty times a second would
    cost more than everything else that an idle planner does; here there are only the topics.

    :param node: the planner node, by whose names topics are resolved
    """

    def __init__(self, node: Any) -> None:
        self._names = node
        self._node = Node(
            f'{node.get_name()}_topics', namespace=node.get_namespace(), context=node.context,
            # A remap of the planner's name would be one of this node's name, too.
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False,
            # Nor has it a service, which a security policy would have to know.
            parameter_overrides=[Parameter('start_type_description_service', value=False)])
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._node)
        self._closed = False
        self._thread = threading.Thread(target=self._spin, name='topics', daemon=True)
        self._thread.start()

    def create_subscription(self, kind: Any, topic: str, callback: Callable[[Any], None],
                            profile: QoSProfile) -> Any:
        """Subscribe to a topic by a name as the planner's own."""
        # A group each: rclpy's groups never forget an entity that was destroyed.
        return self._node.create_subscription(
            kind, self._names.resolve_topic_name(topic), callback, profile,
            callback_group=MutuallyExclusiveCallbackGroup())

    def destroy_subscription(self, subscription: Any) -> None:
        """Give a subscription back."""
        self._node.destroy_subscription(subscription)

    def _spin(self) -> None:
        while rclpy.ok(context=self._node.context) and not self._closed:
            try:
                self._executor.spin()
            except ExternalShutdownException:
                return
            except InvalidHandle:
                # What is given back while it is waited for raises here (rclpy issue 1142).
                continue
            except Exception:
                # Readings would be stale from here on: every condition would refuse.
                self._names.log_exception('a message could not be taken')

    def close(self) -> None:
        """End the thread and give the node back."""
        self._closed = True
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(2.0)
        self._node.destroy_node()
