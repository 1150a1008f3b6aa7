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

"""The simulated robot as a ROS 2 node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import json
import math
import threading
import time
from typing import Any

from edge_llm_interfaces.action import MoveTo
from edge_llm_ros.sim.commands import arrive, set_out, switch, SWITCHES, trigger, TRIGGERS
from edge_llm_ros.sim.scene import Scene
from edge_llm_ros.sim.world import HardwareFault, World, WorldError
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState, Temperature
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger

_PERIOD = 0.05  # seconds of a tick
_SLICE = 0.02
FAULTS = {
    'move_to': ('', 'reject', 'abort', 'hang'),
    **{name: ('', 'silent', 'fail') for name in (
        'set_gripper', 'set_lights', 'set_door', 'pick_up', 'put_down')},
}
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class SimulatedRobot(Node):
    """
    A robot with a base, a battery, a gripper, lights and a voice.

    Parameters ``fault.*`` make a service silent or failing, or goals of move_to be rejected,
    aborted or never end; ``battery_percent`` sets the charge; ``~/state`` tells everything, and
    ``~/events`` what was asked of the robot since the last ``~/reset``.
    """

    def __init__(self) -> None:
        super().__init__('simulated_robot')
        self._lock = threading.Lock()
        self._reentrant = ReentrantCallbackGroup()
        self._declare('seed', 0, 'Seed of temperatures and of where objects are; used by ~/reset.')
        self._declare('speed', 2.0, 'Of the base [m/s].')
        self._declare('watchdog', 0.5, 'Seconds without cmd_vel until the base stops; 0: never.')
        self._declare('battery_percent', 80.0, 'Setting it changes the charge at once.')
        self._declare('door_open', True, 'Of the storage; setting it moves the door at once.')
        for name, faults in FAULTS.items():
            self._declare(f'fault.{name}', '', f'One of {faults}.')
        self._declare('scene', '', 'JSON of a Scene; used by ~/reset.')
        self._declare('more', '', 'JSON: further services and topics that change nothing, each '
                      'name with its kind and answers: [trigger, A], [switch, NO, YES], '
                      '[tell, A], [text].')
        self._world = self._new_world()
        self.add_on_set_parameters_callback(self._on_parameters)
        self._moving = False
        self._make_interfaces()
        self._last_tick = time.monotonic()
        self.create_timer(_PERIOD, self._tick, callback_group=MutuallyExclusiveCallbackGroup())

    def _declare(self, name: str, value: Any, description: str) -> None:
        self.declare_parameter(name, value, ParameterDescriptor(description=description))

    def _new_world(self) -> World:
        get = self.get_parameter
        return World(seed=get('seed').value,
                     speed=get('speed').value,
                     watchdog=get('watchdog').value,
                     battery=get('battery_percent').value,
                     door_open=get('door_open').value,
                     scene=Scene.model_validate_json(get('scene').value or '{}'))

    def _make_interfaces(self) -> None:
        self._battery = self.create_publisher(BatteryState, 'battery_state', 10)
        self._odometry = self.create_publisher(Odometry, 'odom', 10)
        self._temperature = self.create_publisher(Temperature, 'temperature', 10)
        self._location = self.create_publisher(String, 'location', _LATCHED)
        self._door = self.create_publisher(Bool, 'door_open', _LATCHED)
        self._told_location: str | None = None
        self._told_door: bool | None = None
        self.create_subscription(String, 'say', self._on_say, 10)
        self.create_subscription(Twist, 'cmd_vel', self._on_velocity, 10)
        for name in SWITCHES:
            self._serve_switch(name)
        for name in TRIGGERS:
            self._serve_trigger(name)
        for name, (kind, *answers) in json.loads(
                self.get_parameter('more').value or '{}').items():
            self._serve_more(name, kind, answers)
        for name, tell in (('state', self._on_state), ('events', self._on_events),
                           ('reset', self._on_reset)):
            self.create_service(Trigger, f'~/{name}', tell, callback_group=self._reentrant)
        self._server = ActionServer(
            self, MoveTo, 'move_to', self._move, goal_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT, callback_group=self._reentrant)

    def _serve_more(self, name: str, kind: str, answers: list[str]) -> None:
        if kind == 'text':
            self.create_subscription(String, name, partial(self._on_text, name), 10)
        elif kind == 'switch':
            self._serve_switch(name, answers)
        elif kind == 'trigger':
            self._serve_trigger(name, *answers)
        else:
            tell = self._service(name, lambda world, request: answers[0])
            self.create_service(Trigger, name, tell, callback_group=self._reentrant)

    def _serve_switch(self, name: str, words: Sequence[str] = ()) -> None:
        work = self._service(name, lambda world, request: switch(world, name, request.data, words))
        self.create_service(SetBool, name, work, callback_group=self._reentrant)

    def _serve_trigger(self, name: str, answer: str = '') -> None:
        work = self._service(name, lambda world, request: trigger(world, name, answer))
        self.create_service(Trigger, name, work, callback_group=self._reentrant)

    def _fault(self, name: str) -> str:
        return str(self.get_parameter(f'fault.{name}').value) if name in FAULTS else ''

    def _service(self, name: str, work: Callable[[World, Any], str]) -> Callable[[Any, Any], Any]:
        def callback(request: Any, response: Any) -> Any:
            if self._fault(name) == 'silent':
                # Never answers while the fault lasts, and does nothing when it ends.
                while self._fault(name) == 'silent' and rclpy.ok():
                    time.sleep(_SLICE)
                response.message = 'the request was lost'
                return response
            try:
                if self._fault(name) == 'fail':
                    raise WorldError('the hardware reports a fault')
                with self._lock:
                    response.message = work(self._world, request)
                response.success = True
            except WorldError as error:
                response.success, response.message = False, str(error)
            return response
        return callback

    def _on_parameters(self, parameters: list[Any]) -> SetParametersResult:
        for parameter in parameters:
            name, value = parameter.name, parameter.value
            allowed = FAULTS.get(
                name.removeprefix('fault.')) if name.startswith('fault.') else None
            if allowed is not None and value not in allowed:
                return SetParametersResult(successful=False, reason=f'{name}: one of {allowed}')
            with self._lock:
                if name == 'battery_percent':
                    self._world.battery = float(value)
                elif name == 'door_open':
                    self._world.door_open = bool(value)
                elif name in ('speed', 'watchdog'):
                    setattr(self._world, name, float(value))
        return SetParametersResult(successful=True)

    def _on_state(self, request: Any, response: Any) -> Any:
        with self._lock:
            response.message = json.dumps(self._world.state(), ensure_ascii=False)
        response.success = True
        return response

    def _on_events(self, request: Any, response: Any) -> Any:
        with self._lock:
            response.message = json.dumps(self._world.events, ensure_ascii=False)
        response.success = True
        return response

    def _on_reset(self, request: Any, response: Any) -> Any:
        with self._lock:
            self._world = self._new_world()
        response.success = True
        return response

    def _on_say(self, message: String) -> None:
        with self._lock:
            self._world.say(message.data)
        self.get_logger().info(f'says: {message.data}')

    def _on_text(self, name: str, message: String) -> None:
        with self._lock:
            self._world.record(name, message.data)

    def _on_velocity(self, message: Twist) -> None:
        with self._lock:
            self._world.set_velocity(message.linear.x, message.angular.z)

    # move_to

    def _on_goal(self, request: Any) -> GoalResponse:
        if self._fault('move_to') == 'reject' or self._moving:
            return GoalResponse.REJECT
        self._moving = True
        return GoalResponse.ACCEPT

    def _move(self, handle: Any) -> Any:
        try:
            with self._lock:
                start = self._world.distance
            error, message = self._drive(handle)
            result = self._result(error, message, start)
            if error == MoveTo.Result.ERROR_NONE:
                handle.succeed()
            elif error == MoveTo.Result.ERROR_CANCELED:
                handle.canceled()
            else:
                handle.abort()
            return result
        finally:
            self._moving = False

    def _drive(self, handle: Any) -> tuple[int, str]:
        goal, codes = handle.request, MoveTo.Result
        places = self._world.places
        if goal.place and goal.place not in places:
            return codes.ERROR_UNKNOWN_PLACE, f'no place {goal.place!r} on the map'
        position = goal.pose.pose.position
        x, y = places[goal.place] if goal.place else (position.x, position.y)
        try:
            with self._lock:
                set_out(self._world, goal.place, x, y)
        except HardwareFault as error:
            return codes.ERROR_FAULT, str(error)
        except WorldError as error:
            return codes.ERROR_BLOCKED, str(error)
        feedback = MoveTo.Feedback()
        last = 0.0
        while rclpy.ok():
            if handle.is_cancel_requested:
                with self._lock:
                    self._world.stop()
                return codes.ERROR_CANCELED, 'canceled'
            if self._fault('move_to') == 'abort':
                with self._lock:
                    self._world.stop()
                return codes.ERROR_FAULT, 'a wheel is blocked'
            with self._lock:
                arrived, remaining = self._world.target is None, self._world.remaining
                at_goal = math.hypot(self._world.x - x, self._world.y - y) < 0.05
            if arrived and self._fault('move_to') != 'hang':
                if not at_goal:
                    return codes.ERROR_BATTERY, 'the drive was interrupted'
                with self._lock:
                    return codes.ERROR_NONE, arrive(self._world, goal.place)
            if time.monotonic() - last > 0.5:
                last, feedback.distance_remaining = time.monotonic(), float(remaining)
                feedback.pose = self._pose()
                handle.publish_feedback(feedback)
            time.sleep(_SLICE)
        return codes.ERROR_FAULT, 'the robot shuts down'

    def _result(self, error: int, message: str, start: float) -> Any:
        result = MoveTo.Result(error_code=error, message=message, pose=self._pose())
        with self._lock:
            result.place, result.distance = self._world.place, float(self._world.distance - start)
        return result

    def _pose(self) -> Any:
        odometry = Odometry()
        with self._lock:
            pose = odometry.pose.pose
            pose.position.x, pose.position.y = float(self._world.x), float(self._world.y)
            pose.orientation.z = math.sin(self._world.yaw / 2)
            pose.orientation.w = math.cos(self._world.yaw / 2)
        return pose

    # Sensors

    def _tick(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._world.tick(min(now - self._last_tick, 1.0))
            world, place = self._world, self._world.place
            battery, door, velocity = world.battery, world.door_open, float(world.velocity)
        self._last_tick = now
        stamp = self.get_clock().now().to_msg()
        message = BatteryState(percentage=battery / 100.0, present=True)
        message.header.stamp = stamp
        self._battery.publish(message)
        odometry = Odometry()
        odometry.header.stamp, odometry.header.frame_id = stamp, 'map'
        odometry.pose.pose = self._pose()
        odometry.child_frame_id = 'base_link'
        odometry.twist.twist.linear.x = velocity
        self._odometry.publish(odometry)
        self._temperature.publish(Temperature(temperature=world.temperatures.get(place, 20.0)))
        if place != self._told_location:
            self._told_location = place
            self._location.publish(String(data=place or 'between places'))
        if door != self._told_door:
            self._told_door = door
            self._door.publish(Bool(data=door))


def main(args: list[str] | None = None) -> None:
    """Run the simulated robot until it is told to stop."""
    rclpy.init(args=args)
    executor = MultiThreadedExecutor(num_threads=12)
    try:
        executor.add_node(SimulatedRobot())
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
