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

"""How long things may be that the model reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from edge_llm_ros.flow.engine import Sampling


@dataclass(frozen=True)
class GenerationLimits:
    """
    What a call and a conversation may be.

    :param call_tokens: generated tokens of a call at most
    :param text_length: characters of a free text at most
    :param reasoning_tokens: of a thought before a call at most
    :param observation_tokens: of a tool's result at most; longer ones are cut, with a mark
    :param session_tokens: of a session's messages at most, beyond which old ones are dropped; 0:
        what the context holds
    :param candidates: programs that are written in a turn at most, until one raises no doubt
    :param summary_length: characters in which the model sums up what is dropped; 0: not at all
    """

    call_tokens: int = 256
    text_length: int = 160
    reasoning_tokens: int = 64
    observation_tokens: int = 512
    session_tokens: int = 0
    summary_length: int = 0
    candidates: int = 1
    sampling: Sampling = field(default_factory=Sampling)
