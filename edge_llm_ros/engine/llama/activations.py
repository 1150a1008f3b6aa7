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
"""How much each input of a weight matters: the mean of its squares while a model reads."""

from __future__ import annotations

from typing import Any

from edge_llm_ros.engine.llama.tensor import check_layout, Tensor
from edge_llm_ros.flow.errors import EngineError
import llama_cpp.llama_cpp as api
import numpy as np
import numpy.typing as npt

_LAYERS = 'blk.'  # the output's weight stays as llama.cpp quantizes it by itself
_DENSE, _EXPERTS = 'MUL_MAT', 'MUL_MAT_ID'

Importance = dict[str, npt.NDArray[np.float32]]


class Activations:
    """
    Watches the matrix products of a context's graphs.

    :raises EngineError: if the tensors of this llama.cpp cannot be read
    """

    def __init__(self) -> None:
        check_layout()
        self._sums: dict[str, npt.NDArray[np.float64]] = {}
        self._counts: dict[str, npt.NDArray[np.int64]] = {}
        self._error: BaseException | None = None
        self.callback: Any = api.ggml_backend_sched_eval_callback(self._observe)

    def _observe(self, address: int, ask: bool, _: Any) -> bool:
        """Say whether a node is wanted; once it is computed, read the input of its product."""
        # An exception must not go through C: it is kept, and ends the graph.
        try:
            node = Tensor(address)
            if ask:
                return self._wants(node)
            self._add(node)
            return True
        except BaseException as error:
            self._error = error
            return False

    @staticmethod
    def _wants(node: Tensor) -> bool:
        if node.op not in (_DENSE, _EXPERTS):
            return False
        return node.source(0).name.startswith(_LAYERS) and node.source(1).type == 'f32'

    def _add(self, node: Tensor) -> None:
        weight = node.source(0)
        matrices, width = weight.shape[1], weight.shape[3]
        if weight.shape[0] != 1:
            raise EngineError(f'{weight.name}: a weight of four dimensions cannot be calibrated.')
        sums = self._sums.setdefault(weight.name, np.zeros((matrices, width)))
        counts = self._counts.setdefault(weight.name, np.zeros(matrices, np.int64))
        squares = np.square(node.source(1).values(), dtype=np.float64)
        if node.op == _DENSE:
            # Several matrices meet the third dimension of the input by turns.
            for number in range(squares.shape[1]):
                rows = squares[:, number].reshape(-1, width)
                sums[number % matrices] += rows.sum(0)
                counts[number % matrices] += len(rows)
            return
        ids = node.source(2).values()[0, 0]  # token, which of its experts
        for used in range(ids.shape[1]):
            np.add.at(sums, ids[:, used], squares[0, :, used % squares.shape[2]])
            np.add.at(counts, ids[:, used], 1)

    def check(self) -> None:
        """
        Say what went wrong while a graph was watched.

        :raises EngineError: if something did
        """
        if self._error is not None:
            raise EngineError(f'activations cannot be read: {self._error}') from self._error

    def counts(self, name: str) -> npt.NDArray[np.int64]:
        """Return how many inputs each matrix of a weight has had."""
        return self._counts[name]

    def importance(self) -> Importance:
        """Return the mean squares by weight; experts that were never chosen count alike."""
        found = {}
        for name, sums in self._sums.items():
            counts = self._counts[name][:, None]
            mean = np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)
            if not np.isfinite(mean).all():
                raise EngineError(f'{name}: its activations are not finite.')
            found[name] = mean.astype(np.float32).ravel()
        return found
