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

"""Which chat format a model gets."""

from __future__ import annotations

from edge_llm_ros.flow.engine import ModelInfo
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.prompt.chat_format import ChatFormat
from edge_llm_ros.prompt.chatml import ChatML
from edge_llm_ros.prompt.llama3 import Llama3
from edge_llm_ros.prompt.template_format import TemplateFormat

AUTO = 'auto'
DETECTED = (ChatML, Llama3)
NAMES = (AUTO, ChatML.name, Llama3.name, TemplateFormat.name)


def chat_format(name: str, info: ModelInfo) -> ChatFormat:
    """
    Return a chat format by name, or for ``auto`` the one that the model's file asks for.

    :raises ConfigError: if there is no such format, or the model is not made for it
    """
    if name == TemplateFormat.name:
        return TemplateFormat(info)
    for kind in DETECTED:
        if name in (AUTO, kind.name) and kind.matches(info):
            return kind(info)
    if name in NAMES and name != AUTO:
        raise ConfigError(
            f'chat_format: {name!r} does not fit {info.path!r}: the file lacks its role tokens or '
            'its '
            f'template. Use auto, or json, which follows the template of any model.')
    reason = 'no format fits' if name == AUTO else f'there is no format {name!r} for'
    raise ConfigError(
        f'chat_format: {reason} {info.path!r}. Formats: {", ".join(NAMES)}; json follows the '
        'template '
        f'of any model and is chosen only by name.')
