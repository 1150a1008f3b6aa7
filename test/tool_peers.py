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
"""What tools call in tests: well-behaved, faulty and deaf peers, and a count of what they got."""

from collections import Counter
import json
import sys
import threading
import time

from edge_llm_interfaces.action import MoveTo
from geometry_msgs.msg import Twist
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data, QoSProfile, DurabilityPolicy
from sensor_msgs.msg import BatteryState, Temperature
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Peers(Node):
    """
    Peers that answer.

    The action ``move`` goes by the goal's place: forever, reject, abort, stubborn (refuses to
    cancel), lingering (accepts a cancel and goes on for a while), or at once.
    """

    def __init__(self) -> None:
        super().__init__('peers')
        group = ReentrantCallbackGroup()
        self._got: Counter = Counter()
        self._velocities: list = []
        self._running = 0
        self.declare_parameter('percentage', 0.8)
        self.declare_parameter('battery_on', True)
        self._battery = self.create_publisher(BatteryState, 'battery', 10)
        self._scan = self.create_publisher(Temperature, 'scan', qos_profile_sensor_data)
        self._mode = self.create_publisher(String, 'mode', LATCHED)
        self._mode.publish(String(data='automatic'))
        self.create_subscription(Twist, 'cmd_vel', self._on_velocity, 10)
        self.create_subscription(String, 'say', lambda m: self._count('say'), 10)
        for name in ('lights', 'forbidden'):
            self.create_service(SetBool, name, self._service(name), callback_group=group)
        self.create_service(Trigger, 'trigger', self._service('trigger'), callback_group=group)
        self.create_service(Trigger, '~/report', self._on_report, callback_group=group)
        self._server = ActionServer(
            self, MoveTo, 'move', self._move, goal_callback=self._on_goal,
            cancel_callback=self._on_cancel, callback_group=group)
        self.create_timer(0.05, self._tick)

    def _count(self, name: str) -> None:
        self._got[name] += 1

    def _service(self, name: str):
        def callback(request, response):
            self._count(name)
            response.success = True
            return response
        return callback

    def _on_velocity(self, message: Twist) -> None:
        self._velocities.append(message.linear.x)

    def _on_report(self, request, response):
        response.success = True
        response.message = json.dumps({
            'got': self._got, 'velocities': self._velocities, 'running': self._running})
        return response

    def _on_goal(self, request) -> GoalResponse:
        self._count('move')
        return GoalResponse.REJECT if request.place == 'reject' else GoalResponse.ACCEPT

    def _on_cancel(self, handle) -> CancelResponse:
        self._count('cancel')
        stubborn = handle.request.place == 'stubborn'
        return CancelResponse.REJECT if stubborn else CancelResponse.ACCEPT

    def _move(self, handle):
        place = handle.request.place
        self._running += 1
        try:
            if place == 'abort':
                handle.abort()
                return MoveTo.Result(message='the wheel is blocked')
            end = time.monotonic() + {'forever': 60.0, 'lingering': 60.0, 'stubborn': 4.5}.get(
                place, 0.0)
            while time.monotonic() < end and rclpy.ok():
                handle.publish_feedback(MoveTo.Feedback(distance_remaining=2.5))
                if handle.is_cancel_requested:
                    if place == 'lingering':
                        time.sleep(3.5)
                    handle.canceled()
                    return MoveTo.Result(message='canceled')
                time.sleep(0.02)
            handle.succeed()
            return MoveTo.Result(message='arrived')
        finally:
            self._running -= 1

    def _tick(self) -> None:
        self._scan.publish(Temperature(temperature=21.5))
        if self.get_parameter('battery_on').value:
            self._battery.publish(BatteryState(
                percentage=self.get_parameter('percentage').value, present=True))


def main() -> None:
    """Run the peers; with the argument ``server``, the action server alone."""
    rclpy.init()
    executor = MultiThreadedExecutor(num_threads=8)
    executor.add_node(Peers())
    # It is on the graph, and nobody ever takes what it is sent.
    deaf = rclpy.create_node('deaf')
    deaf.create_service(SetBool, 'deaf_lights', lambda request, response: response)
    server = ActionServer(deaf, MoveTo, 'deaf_move', lambda handle: None)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    del server


def _end_with_parent() -> None:
    sys.stdin.read()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
