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
"""What the gate and the conversion of a call cost; the one measurement that needs ROS messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import time

from ament_index_python.packages import get_package_share_directory
from edge_llm_ros.bench.row import Row, row
from edge_llm_ros.flow.tool import ToolCall
from edge_llm_ros.ros.argument_types import request_class, resolved_tools
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.tools.gate import Gate, pass_gate
from edge_llm_ros.tools.load_tools import load_tools

# One of each verb that sends something.
_CALLS = (ToolCall('move_to', {'place': 'kitchen'}), ToolCall('set_lights', {'state': 'on'}),
          ToolCall('say', {'text': 'The parcel is here, please open the door.'}),
          ToolCall('creep', {'speed': 0.2, 'seconds': 1.5}))
_TIMES = 500  # each


def gate_costs(tell: Callable[[str], None]) -> Iterator[Row]:
    """Measure from the model's arguments to the message that may leave, for calls of each verb."""
    path = f'{get_package_share_directory("edge_llm_ros")}/config/simulated_robot.yaml'
    loaded = resolved_tools(load_tools([path]))
    gate = Gate(loaded.tools, loaded.rate_limits)
    seconds = []
    for call in _CALLS:
        tool = loaded.tools[call.name]
        maker = RequestMaker(tool, request_class(tool, path), path)
        for _ in range(_TIMES):
            start = time.perf_counter()
            gate.check_stop()
            maker(pass_gate(tool, call.arguments))
            gate.admit(call.name)
            seconds.append(time.perf_counter() - start)
    figure = row('calls', 'ours', 'gate_s', seconds, 's')
    tell(f'gate and conversion of a call: {figure.median * 1e6:.0f} µs, 95 percent within '
         f'{figure.p95 * 1e6:.0f} µs')
    yield figure
