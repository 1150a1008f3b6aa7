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

"""A tool that calls a service."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from edge_llm_ros.flow.tool import Observation
from edge_llm_ros.ros.messages import interface
from edge_llm_ros.ros.request_maker import RequestMaker
from edge_llm_ros.ros.result_view import ResultView
from edge_llm_ros.ros.service_client import ServiceClient
from edge_llm_ros.ros.verbs import why_not_ready
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.call_cancellation import CallCancellation
from edge_llm_ros.tools.gate import Passage
from edge_llm_ros.tools.tool_file import Tool
from edge_llm_ros.tools.toolset import failed, succeeded


class ServiceCall:
    """
    Calls a service and waits for the response.

    :param wiring: whose latch lets the request leave; nothing is journaled, since a service has
        nothing to stop
    :param where: tool, for messages
    :raises ConfigError: if the tool does not fit the service type
    """

    def __init__(self, wiring: Wiring, tool: Tool, where: str) -> None:
        verb = tool.service
        assert verb is not None
        kind = interface(verb.type, f'{where}.service.type')
        self._name, self._type = verb.name, verb.type
        self._timeout = tool.timeout
        self._request = RequestMaker(tool, kind.Request, where, wiring.node.get_clock())
        self._view = ResultView(tool, kind.Response, where)
        self._latch = wiring.latch
        self._node = wiring.node
        self._client = ServiceClient(wiring.node, kind, verb.name)

    @property
    def target(self) -> str:
        """Return what it calls."""
        return f'service {self._node.resolve_service_name(self._name)} {self._type}'

    def prepare(self, passage: Passage) -> Any:
        """Return the request."""
        return self._request(passage)

    def send(self, message: Any, passage: Passage, cancellation: CallCancellation,
             on_progress: Callable[[str], None]) -> Observation:
        """Call the service."""
        deadline = time.monotonic() + self._timeout
        not_ready = why_not_ready(self._client.ready, deadline, cancellation, self._missing)
        if not_ready is not None:
            return not_ready
        with self._latch.passing():
            self._request.stamp(message)
            future = self._client.send(message)
        if not self._client.wait_for(future, deadline - time.monotonic(), cancellation):
            if cancellation.canceled:
                return failed(f'{cancellation.why} while waiting for the response',
                              cancellation.status)
            return failed(f'no response from {self._name!r} within {self._timeout:g} s')
        response = future.result()
        if self._view.has_success and response.success is False:
            reason = self._view.reason(response)
            return failed(reason or f'{self._name} reports no success',
                          result=self._view.beside_reason(response))
        return succeeded(self._view.of(response) or {'success': True})

    def _missing(self) -> str:
        """Say that there is no such service, or that it is of another type."""
        return self.mismatch() or f'there is no service {self._name!r}'

    def mismatch(self) -> str:
        """Return in words what on the graph does not fit; empty if all does."""
        name = self._node.resolve_service_name(self._name)
        # The graph lists the type of our own client too.
        there = dict(self._node.get_service_names_and_types()).get(name, [])
        others = [kind for kind in there if kind != self._type]
        if others and not self._client.ready():
            return f'the service {self._name!r} is of type {", ".join(others)}, not {self._type}'
        return ''

    def stop(self) -> str:
        """Do nothing: a request that was sent cannot be taken back."""
        return ''

    def destroy(self) -> None:
        """Give the client back."""
        self._client.destroy()
