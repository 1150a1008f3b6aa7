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

"""The one way JSON is written: for prompt, examples, grammar and observations alike."""

from __future__ import annotations

import json
import math
from typing import Any

ITEM_SEPARATOR, KEY_SEPARATOR = ', ', ': '


def canonical_json(value: Any) -> str:
    """
    Write a value as JSON that is the same for the same value, with keys in the order given.

    NaN and infinities, which JSON does not have, become null; lone surrogates, which UTF-8 does
    not have, become U+FFFD.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False,
                      separators=(ITEM_SEPARATOR, KEY_SEPARATOR))
    return text.encode('utf-8', 'replace').decode('utf-8')


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
