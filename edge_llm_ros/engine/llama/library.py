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

"""The library itself: what it was built with, and what it says while it works."""

from __future__ import annotations

from collections import deque
import ctypes
import logging
import re
from typing import Any

from edge_llm_ros.flow.engine import BackendInfo
import llama_cpp
import llama_cpp.llama_cpp as api

logger = logging.getLogger('edge_llm_ros.engine.llama')

_HANDLED = ('control-looking token', 'failed to find a memory slot')
_LOG_LEVELS = {2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}
_OFFLOADED = re.compile(r'offloaded (\d+)/\d+ layers to GPU')
_BUFFER = re.compile(r'(?:KV|RS) buffer size\s*=\s*([\d.]+) MiB')

aborting: set[int] = set()  # contexts whose decode is being aborted
errors: deque[str] = deque(maxlen=4)
offloaded: deque[int] = deque(maxlen=1)
buffers: list[float] = []  # MiB of the KV and state buffers of the last context


@api.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: Any) -> None:
    """Hand llama.cpp's log lines to logging; info lines become debug."""
    line = text.decode('utf-8', 'replace').rstrip()
    if aborting or any(text in line for text in _HANDLED):
        # What llama.cpp says of an abort that we asked for reads like a crash.
        level = 0
    if found := _OFFLOADED.search(line):
        offloaded.append(int(found[1]))
    if found := _BUFFER.search(line):
        buffers.append(float(found[1]))
    if level == 4:
        errors.append(line)
    if line:
        logger.log(_LOG_LEVELS.get(level, logging.DEBUG), '%s', line)


def start() -> None:
    """Initialise the library and take its log."""
    api.llama_log_set(_on_log, ctypes.c_void_p(0))
    api.llama_backend_init()


def why() -> str:
    """Return the last errors that llama.cpp logged; empty where it gave none."""
    return '; '.join(errors)


def version() -> str:
    """Return the version of the bindings, which is that of llama.cpp's sources."""
    return str(llama_cpp.__version__)


def system() -> str:
    """Return the instruction sets and backends that llama.cpp was built with."""
    return str(api.llama_print_system_info().decode('utf-8', 'replace').strip())


def backend() -> BackendInfo:
    """Return what llama.cpp was built with."""
    return BackendInfo(
        version=version(), gpu=bool(api.llama_supports_gpu_offload()), system=system())
