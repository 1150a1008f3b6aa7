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

"""A client of a service, whose responses are taken by the thread that waits for them."""

from __future__ import annotations

import threading
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.ros.unspun import UnspunGroup, wait_for_response
from edge_llm_ros.ros.verbs import WAIT_SLICE


class ServiceClient:
    """
    Sends requests and waits for their responses, without an executor's detour.

    :param node: that owns the client
    :param kind: class of the service
    :param name: of the service, relative
    """

    def __init__(self, node: Any, kind: Any, name: str) -> None:
        self._node = node
        self._taking = threading.Lock()
        self._client = node.create_client(kind, name, callback_group=UnspunGroup())

    def ready(self) -> bool:
        """Say whether a server is there."""
        return bool(self._client.service_is_ready())

    def send(self, request: Any) -> Any:
        """Send a request; returns the future of its response, which only ``wait_for()`` takes."""
        return self._client.call_async(request)

    def wait_for(self, future: Any, seconds: float, cancellation: Cancellation) -> bool:
        """
        Wait for a response; one that does not come is forgotten.

        :param seconds: at most, on the steady clock
        :param cancellation: ends the wait early
        :returns: whether the response is there
        """
        deadline = time.monotonic() + seconds
        while not self._taken(future):
            left = deadline - time.monotonic()
            if left <= 0 or cancellation.canceled:
                self.forget(future)
                return False
            wait_for_response(self._client, min(left, WAIT_SLICE))
        return True

    def _taken(self, future: Any) -> bool:
        """Take what has come, responses that nobody waits for any more too."""
        with self._taking, self._client.handle:
            while not future.done():
                header, response = self._client.handle.take_response(
                    self._client.srv_type.Response)
                if header is None:
                    return False
                try:
                    asked = self._client.get_pending_request(header.request_id.sequence_number)
                except KeyError:
                    continue
                asked.set_result(response)
        return True

    def forget(self, future: Any) -> None:
        """Do not expect a response any more."""
        self._client.remove_pending_request(future)

    def destroy(self) -> None:
        """Give the client back."""
        self._node.destroy_client(self._client)
