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

"""The lifecycle node that hosts the planner."""

from __future__ import annotations

from collections.abc import Callable
import logging
import os
import signal
import sys
import threading
import traceback

from edge_llm_interfaces.msg import ToolList
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.flow.goal_observer import GoalObservers
from edge_llm_ros.flow.goal_statistics import GoalStatistics
from edge_llm_ros.ros.confirm_server import ConfirmServer
from edge_llm_ros.ros.diagnostics import Diagnostics
from edge_llm_ros.ros.event_publisher import EventPublisher
from edge_llm_ros.ros.goal_runner import GoalRunner
from edge_llm_ros.ros.manager_bond import ManagerBond
from edge_llm_ros.ros.node_log_handler import NodeLogHandler
from edge_llm_ros.ros.parameters import PlannerParameters
from edge_llm_ros.ros.plan_server import PlanServer
from edge_llm_ros.ros.planner import Planner
from edge_llm_ros.ros.qos import LATCHED
from edge_llm_ros.ros.spinning import keep_spinning
from edge_llm_ros.ros.status_publisher import StatusPublisher
from edge_llm_ros.ros.stop_server import StopServer
from edge_llm_ros.ros.tool_list import tool_list
from edge_llm_ros.ros.transition_group import TransitionGroup
from edge_llm_ros.tools.stop_latch import StopLatch
from edge_llm_ros.trace.writer import TraceWriter
import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import MultiThreadedExecutor
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

# One waits for the running goal, one may load the model; two are left for everything else.
_EXECUTOR_THREADS = 4
_STATUS_PERIOD = 0.5  # seconds between two looks at what changed


class PlannerNode(LifecycleNodeMixin, Node):
    """
    Plans goals given in plain language.

    configure loads the model and evaluates the prefix; activate takes goals on ``~/plan``;
    deactivate ends running goals; cleanup frees the model.
    """

    def __init__(self) -> None:
        Node.__init__(self, 'planner')
        # Not the node's default group: parameters are served while a transition takes its time.
        LifecycleNodeMixin.__init__(self, callback_group=TransitionGroup())
        self._planner: Planner | None = None
        self._configuring = threading.Lock()
        self._ending = False
        self.parameters = PlannerParameters(self)
        self._group = ReentrantCallbackGroup()
        self._latch = StopLatch()
        self._operator_told = False  # to stop or to release, since this process began
        self._confirm = ConfirmServer(self, self._group)
        self.doing = ''  # what takes time now
        self.last_error = ''  # of the last transition
        self._statistics = GoalStatistics()
        self._status = StatusPublisher(self, self._statistics)
        self._trace = TraceWriter()
        self._observers = GoalObservers(
            [self._statistics, self._status, EventPublisher(self), self._trace],
            self.log_exception)
        self._server = PlanServer(self, self._group, self._latch, self._observers)
        self._bond = ManagerBond(self)
        self._stop = StopServer(self, self._group, self._latch, self._stop_robot, self._remember)
        self._tools = self.create_publisher(
            ToolList, '~/tools', LATCHED, callback_group=self._group)
        Diagnostics(self, self._statistics, lambda: self._planner)
        # On a clock of its own, and in a group of its own, so that neither a simulation that
        # stands still nor a transition that takes its time holds it up.
        self._timer = self.create_timer(
            _STATUS_PERIOD, self._status.update, MutuallyExclusiveCallbackGroup(),
            Clock(clock_type=ClockType.STEADY_TIME))
        logger = logging.getLogger('edge_llm_ros')
        logger.setLevel(logging.INFO)
        logger.addHandler(NodeLogHandler(self))
        logger.propagate = False

    def can_configure(self) -> bool:
        """Say whether what configure reads may change."""
        return self._planner is None and not self._configuring.locked()

    @property
    def state_label(self) -> str:
        """Return the name of the lifecycle state."""
        return str(self._state_machine.current_state[1])

    @property
    def model_name(self) -> str:
        """Return the name of the loaded model; empty without one."""
        planner = self._planner
        return planner.info.name if planner is not None and planner.info is not None else ''

    def log(self, line: str) -> None:
        """Log a line for the person who waits."""
        self.doing = line
        self.get_logger().info(line)
        self._status.update()

    def log_exception(self, what: str) -> None:
        """Log the exception that is being handled, with its traceback."""
        self.get_logger().error(f'{what}:\n{traceback.format_exc()}')

    def _transition(self, name: str, work: Callable[[], None]) -> TransitionCallbackReturn:
        """Do the work of a transition; log a failure's reason, which rclpy would swallow."""
        try:
            work()
        except EdgeLlmError as error:
            self.last_error = f'{name} failed: {error}'
            self.get_logger().error(self.last_error)
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self.last_error = f'{name} failed: {type(error).__name__}: {error}'
            self.log_exception(f'{name} failed')
            return TransitionCallbackReturn.FAILURE
        finally:
            self.doing = ''
        self.last_error = ''
        return TransitionCallbackReturn.SUCCESS

    def _stop_robot(self) -> str:
        """End all goals and stop what goes on; nothing leaves any more."""
        try:
            ended = f'{self._server.stop()} goals ended'
        except Exception as error:
            # What goes on must be stopped all the same.
            self.log_exception('stop')
            ended = f'goals may go on ({type(error).__name__}: {error})'
        planner = self._planner
        done = planner.toolset.stop() if planner is not None else []
        return '; '.join([ended, *done])

    def _remember(self, stopped: bool) -> None:
        self._operator_told = True
        planner = self._planner
        if planner is not None:
            planner.journal.set_stopped(stopped)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check files and interfaces, load the model, evaluate the prefix."""
        return self._transition('configure', self._configure)

    def _configure(self) -> None:
        with self._configuring:
            if self._ending:
                raise EdgeLlmError('the planner is shutting down.')
            self._bond.check()
            # A group of its own: rclpy's groups never forget an entity that was destroyed.
            planner = Planner(self, ReentrantCallbackGroup(), self.parameters, self.log,
                              self._latch, self._confirm.confirmations)
            self._planner = planner
            try:
                if planner.journal.stopped and not self._operator_told:
                    self._latch.engage()
                    self.get_logger().warning(
                        'an operator had stopped the robot; ~/release lets calls pass again')
                planner.journal.set_stopped(self._latch.engaged)
                planner.load()
            except BaseException:
                self._planner = None
                planner.close()
                raise
            self._tools.publish(tool_list(planner.toolset.loaded))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take goals."""
        result = self._transition('activate', self._activate)
        return super().on_activate(state) if result is TransitionCallbackReturn.SUCCESS else result

    def _activate(self) -> None:
        assert self._planner is not None
        planner = self._planner
        for publisher in planner.toolset.stopping_publishers():
            publisher.stop()
        runner = GoalRunner(self, planner.agent(), self._observers, self._before_goal,
                            planner.peak_memory_bytes)
        self._bond.form()
        try:
            self._server.open(runner, tuple(t.name for t in planner.toolset.schemas()),
                              planner.max_goal_bytes)
        except BaseException:
            self._bond.end()
            raise
        self.get_logger().info('ready for goals')

    def _before_goal(self) -> None:
        """Let live parameters count for the next goal."""
        self._trace.write_to(os.path.expanduser(self.parameters['trace_dir']))
        if self._planner is not None:
            self._planner.before_goal()

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End running goals and reject new ones."""
        self._transition('deactivate', self._deactivate)
        return super().on_deactivate(state)

    def _deactivate(self) -> None:
        self._bond.end()
        if not self._server.close():
            if self._planner is not None:
                self._planner.toolset.stop()
            raise EdgeLlmError('a goal has not ended: its tool does not return.')

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free the model."""
        return self._transition('cleanup', self.free)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End goals and free the model."""
        return self._transition('shutdown', self.free)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free what there is; the node can be configured again."""
        return self._transition('error handling', self.free)

    def free(self) -> None:
        """
        End goals, free the model and give clients and publishers back.

        :raises EdgeLlmError: if a goal does not end; the model it may use stays
        """
        self._deactivate()
        planner, self._planner = self._planner, None
        if planner is not None:
            self._tools.publish(ToolList())
            planner.close()

    def start(self) -> None:
        """Configure and activate."""
        if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def end(self) -> None:
        """Give up a running configure, end goals and free everything, while others still spin."""
        self._ending = True
        while not self._configuring.acquire(timeout=0.05):
            # A configure that has just begun may have no planner yet.
            if self._planner is not None:
                self._planner.interrupt()
        try:
            self._transition('shutdown', self.free)
        finally:
            self._configuring.release()


def _spin(node: PlannerNode, executor: MultiThreadedExecutor) -> None:
    # An illegal transition request raises in Jazzy; the node must outlive it.
    keep_spinning(executor.spin, rclpy.ok,
                  lambda: node.log_exception('a request could not be handled'))


def main(args: list[str] | None = None) -> int:
    """Run the planner until SIGINT or SIGTERM."""
    # Not rclpy's handlers: they shut the context down at once, and then neither a stop message nor
    # a cancel can be sent any more.
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    executor = MultiThreadedExecutor(num_threads=_EXECUTOR_THREADS)
    try:
        try:
            node = PlannerNode()
        except (ParameterException, ValueError) as error:
            get_logger('planner').fatal(f'a parameter cannot be used: {error}')
            return 1
        executor.add_node(node)
        spinning = threading.Thread(target=_spin, args=(node, executor), daemon=True)
        spinning.start()
        if node.parameters['autostart']:
            threading.Thread(target=node.start, daemon=True).start()
        while not stop.wait(1.0):
            pass
        node.end()
        executor.shutdown(timeout_sec=1.0)
        rclpy.try_shutdown()
        # It must be out of rclpy's C code before the interpreter takes that away.
        spinning.join(2.0)
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
