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

"""Faults of ours, raised at configure or ending a goal; the model's faults are observations."""

from __future__ import annotations

from edge_llm_ros.flow.metrics import TokenCounts


class EdgeLlmError(Exception):
    """Raised when something is wrong that a person must mend; the message says what and where."""


class ConfigError(EdgeLlmError):
    """Raised when a file or a parameter cannot be used."""


class EngineError(EdgeLlmError):
    """Raised when the model cannot be loaded or evaluated."""


class ContextFull(EngineError):
    """Raised when a conversation does not fit into the model's context."""


class CallCutShort(EngineError):
    """
    Raised when a call reached its token limit before it was complete; it was not kept.

    :param counts: what it cost
    :param seconds: how long it took
    """

    def __init__(self, message: str, counts: TokenCounts = TokenCounts(), seconds: float = 0.0
                 ) -> None:
        super().__init__(message)
        self.counts = counts
        self.seconds = seconds
