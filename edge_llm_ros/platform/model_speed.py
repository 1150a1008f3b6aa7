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
"""Whether a model runs as fast as it should on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edge_llm_ros.flow.engine import ModelInfo

_LARGE = 32  # tokens of the batch whose time stands for prefill
# How many times faster than decode a token of a large batch is where the kernels are right.
_PREFILL_GAIN = {'GPU': 8.0, 'CPU': 2.0}
_TOO_SLOW = 0.5  # of what it should be


@dataclass(frozen=True)
class ModelSpeed:
    """
    Measured speeds beside what they should be; 0 where unknown.

    :param decode: tokens a second, one after the other
    :param decode_limit: what reading the weights once a token allows
    :param prefill: tokens a second of a large batch
    :param prefill_usual: what the profile says
    :param on_gpu: whether any layer is on a GPU
    """

    decode: float
    decode_limit: float
    prefill: float
    prefill_usual: float
    on_gpu: bool

    @property
    def warning(self) -> str:
        """Return what is wrong, with both figures; empty if nothing is."""
        # A few CPU cores are slower than their memory, which is no sign of anything.
        slow_decode = self.on_gpu and self.decode < _TOO_SLOW * self.decode_limit
        if not slow_decode and self.prefill >= _TOO_SLOW * self.prefill_usual:
            return ''
        return (f'decode runs at {self.decode:.1f} tokens/s (the memory allows '
                f'{self.decode_limit:.1f}), prefill at {self.prefill:.0f} (usual here: '
                f'{self.prefill_usual:.0f} or more): kernels may have fallen back to slow ones. '
                'Look at the build of llama.cpp and at the power mode')


def model_speed(info: ModelInfo, batch_seconds: Mapping[int, float], bandwidth: float
                ) -> ModelSpeed | None:
    """
    Judge what was measured at configure.

    :param batch_seconds: by tokens of a batch
    :param bandwidth: bytes a second of the memory that holds the weights; 0 where unknown
    :returns: None where nothing was measured
    """
    if 1 not in batch_seconds or _LARGE not in batch_seconds:
        return None
    decode = 1 / batch_seconds[1]
    on_gpu = info.gpu_layers > 0
    limit = bandwidth / info.size_bytes if info.size_bytes else 0.0
    return ModelSpeed(decode, limit, _LARGE / batch_seconds[_LARGE],
                      decode * _PREFILL_GAIN['GPU' if on_gpu else 'CPU'], on_gpu)
