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

"""A simulated robot and planners, each a process of its own, driven by a test's node."""

from collections.abc import Callable, Mapping
from pathlib import Path
import time
from typing import Any

from action_msgs.msg import GoalStatus
from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.calls import robot_state, set_parameter, transition
from edge_llm_ros.cli.plan_client import PlanEnd
from edge_llm_ros.cli.processes import NodeProcess
from lifecycle_msgs.msg import Transition
import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node
import yaml

CONFIG = Path(__file__).resolve().parent.parent / 'config'
PROMPT = {'version': 1, 'system': 'You control a robot. Call one function at a time.'}
CONFIGURE, ACTIVATE = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE
DEACTIVATE, CLEANUP = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP


def all_tools() -> dict[str, Any]:
    """Return the tools of the simulated robot, as in its file."""
    tools: dict[str, Any] = yaml.safe_load((CONFIG / 'simulated_robot.yaml').read_text())['tools']
    return tools


def only(name: str, **arguments: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return one tool of the simulated robot, so that a model that cannot plan has to call it.

    :param arguments: changes to the tool's arguments
    """
    tool = dict(all_tools()[name])
    tool['arguments'] = {
        key: {**value, **arguments.get(key, {})}
        for key, value in tool.get('arguments', {}).items()
    }
    return {name: tool}


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            state, parent = (folder / 'stat').read_text().rpartition(')')[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != 'Z':
            found.append(int(folder.name))
    return found


class RunningGoal:
    """A goal that was accepted, with the feedback so far."""

    def __init__(self, bench: 'Bench', handle: Any, feedback: list[Any]) -> None:
        self._bench = bench
        self.handle = handle
        self.feedback = feedback
        self._result = handle.get_result_async()

    def until(self, condition: Callable[[Any], bool], seconds: float = 60.0) -> Any:
        """Spin until a feedback fulfils a condition and return it."""
        seen: list[Any] = []

        def found() -> bool:
            seen[:] = [f for f in self.feedback if condition(f)]
            return bool(seen) or self._result.done()

        self._bench.until(found, seconds)
        assert seen, f'the goal ended first: {self._result.result()}'
        return seen[0]

    def cancel(self) -> float:
        """Request a cancel and return the seconds until the goal's result is there."""
        start = time.monotonic()
        self.handle.cancel_goal_async()
        self.end()
        return time.monotonic() - start

    def end(self, seconds: float = 120.0) -> PlanEnd:
        """Wait for the result."""
        self._bench.until(self._result.done, seconds)
        return PlanEnd(self._result.result().status, self._result.result().result)


class Bench:
    """
    Starts processes in one folder and one ROS domain.

    :param node: the test's own node
    :param folder: takes files and logs
    """

    def __init__(self, node: Node, folder: Path) -> None:
        self.node = node
        self.folder = folder
        self.processes: list[NodeProcess] = []
        self._clients: dict[str, ActionClient] = {}

    def until(self, condition: Callable[[], bool], seconds: float = 30.0) -> None:
        """Spin until a condition holds; fail if it does not in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, 'timed out:\n' + self.logs()
            self.spin_once()

    def spin_once(self) -> None:
        """Handle what is there, or wait for it a moment."""
        rclpy.spin_once(self.node, timeout_sec=0.02)

    def spin(self, seconds: float) -> None:
        """Let time pass."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, seconds + 1)

    def logs(self) -> str:
        """Return what all processes have printed."""
        return '\n'.join(f'{p.log.name}:\n{p.log_text()}' for p in self.processes)

    def robot(self, namespace: str = '', **parameters: Any) -> NodeProcess:
        """Start the simulated robot."""
        process = NodeProcess('edge_llm_ros.sim.robot_node', 'simulated_robot', parameters,
                              self.folder / namespace, f'/{namespace}' if namespace else '')
        self.processes.append(process)
        self.state(namespace)
        return process

    def state(self, namespace: str = '') -> dict[str, Any]:
        """Return the robot's own state."""
        return robot_state(self.node, f'{namespace}/simulated_robot'.lstrip('/'))

    def fault(self, name: str, fault: str) -> None:
        """Switch a fault of the robot."""
        assert set_parameter(self.node, 'simulated_robot', f'fault.{name}', fault) == ''

    def file(self, name: str, content: Mapping[str, Any]) -> str:
        """Write a YAML file and return its path."""
        path = self.folder / name
        path.write_text(yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True))
        return str(path)

    def planner(self,
                model: str,
                tools: Mapping[str, Any],
                *,
                builtins: Mapping[str, Any] | None = None,
                prompt: Mapping[str, Any] | None = None,
                active: bool = True,
                name: str = 'planner',
                namespace: str = '',
                **parameters: Any) -> NodeProcess:
        """Start a planner with tools; without builtins, it can only call these."""
        none = {'finish': False, 'wait': 0.0, 'compare': False}
        tool_file = self.file(f'{namespace}tools.yaml', {
            'version': 1, 'builtins': dict(builtins or none), 'tools': dict(tools)})
        process = NodeProcess('edge_llm_ros.ros.planner_node', name, {
            'model_path': model, 'tool_files': [tool_file], 'context_tokens': 4096,
            'step_budget': 120.0,
            'prompt_file': self.file('prompt.yaml', prompt or PROMPT), **parameters},
            self.folder / namespace, f'/{namespace}' if namespace else '')
        self.processes.append(process)
        if active:
            for number in (CONFIGURE, ACTIVATE):
                assert transition(
                    self.node, f'{namespace}/{name}'.lstrip('/'), number), self.logs()
        return process

    def send(self,
             instruction: str,
             planner: str = 'planner',
             **fields: Any) -> RunningGoal | None:
        """Send a goal; None if it was rejected."""
        if planner not in self._clients:
            self._clients[planner] = ActionClient(self.node, Plan, f'{planner}/plan')
        client = self._clients[planner]
        self.until(client.server_is_ready)
        feedback: list[Any] = []
        sending = client.send_goal_async(
            Plan.Goal(instruction=instruction, **fields),
            feedback_callback=lambda message: feedback.append(message.feedback))
        self.until(sending.done)
        handle = sending.result()
        return RunningGoal(self, handle, feedback) if handle.accepted else None

    def plan(self, instruction: str, seconds: float = 120.0, **fields: Any) -> PlanEnd:
        """Send a goal and wait for its end."""
        goal = self.send(instruction, **fields)
        assert goal is not None, 'the goal was rejected:\n' + self.logs()
        return goal.end(seconds)

    def stop(self) -> None:
        """End all processes."""
        for client in self._clients.values():
            client.destroy()
        for process in reversed(self.processes):
            process.stop()


ABORTED, CANCELED = GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_CANCELED
SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
