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

"""Which board this is."""

from __future__ import annotations

from pathlib import Path


def board_name() -> str:
    """Return the name of the board as its device tree says it; empty on a PC."""
    try:
        return Path('/proc/device-tree/model').read_text().strip('\0\n ')
    except OSError:
        return ''


def is_jetson() -> bool:
    """Say whether this is a Jetson, also from inside a container."""
    return 'NVIDIA' in board_name() or Path('/etc/nv_tegra_release').exists()
