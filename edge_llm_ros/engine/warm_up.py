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

"""What happens once at configure: the prefix is pinned, and batches are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
import logging
import time
from typing import Any

from edge_llm_ros.engine.batch_costs import BatchCosts
from edge_llm_ros.engine.evaluator import Evaluator
from edge_llm_ros.engine.json_file import JsonFile
from edge_llm_ros.engine.kv_cache import KvCache
from edge_llm_ros.engine.llama.context import LlamaContext
from edge_llm_ros.engine.model_fingerprint import ModelFingerprints
from edge_llm_ros.engine.prefix_store import PrefixKey, PrefixStore
from edge_llm_ros.engine.sequences import PREFIX
from edge_llm_ros.flow.engine import EngineConfig, MemoryKind, PrefillProgress
from edge_llm_ros.flow.errors import ContextFull, EngineError
import xxhash

logger = logging.getLogger(__name__)

# Larger than the pace of goals: nobody waits for a cancel but a shutdown, and on a CPU a running
# decode is aborted anyway.
_CHUNK = 256
_MEASURED = 'batches that are measured'


class WarmUp:
    """
    Pins prefixes, with what is known on disk.

    :param context: of the loaded model
    :param cache: owner of its sequences; empty when run() is called
    :param evaluator: evaluates in them
    """

    def __init__(self, context: LlamaContext, cache: KvCache, evaluator: Evaluator,
                 config: EngineConfig) -> None:
        self._context = context
        self._cache = cache
        self._evaluator = evaluator
        self._path = config.model_path
        self._swa_full = config.swa_full
        folder = config.prefix_folder
        self._store = PrefixStore(folder, config.prefix_bytes) if folder else None

    def run(self, tokens: tuple[int, ...], is_canceled: Callable[[], bool]
            ) -> Iterator[PrefillProgress]:
        """
        Have the prefix in its sequence, from disk or evaluated.

        :param is_canceled: asked between chunks
        :raises EngineError: if it was canceled, or cannot be evaluated
        """
        store = self._store
        key = PrefixKey(self.state_facts() if store else {}, tokens)
        if store is not None and self._restore(store, key):
            yield PrefillProgress(len(tokens), len(tokens), restored=True)
            return
        rest = list(tokens)
        while rest:
            if is_canceled():
                raise EngineError('the warm-up was canceled.')
            chunk = rest[:min(_CHUNK, self._evaluator.pace.largest)]
            if self._evaluator.evaluate(PREFIX, chunk):
                del rest[:len(chunk)]
                yield PrefillProgress(len(tokens) - len(rest), len(tokens))
        if store is not None:
            store.save(key, self._context.sequence_state(PREFIX))
        if self._context.kind is MemoryKind.WINDOW and not self._swa_full:
            self._drop_cells_behind_the_window(tokens)

    def _drop_cells_behind_the_window(self, tokens: tuple[int, ...]) -> None:
        """
        Free the prefix's cells that its sliding window has left.

        Forks would share them, and llama.cpp never overwrites what is shared. A state holds the
        window alone.
        """
        state = self._context.sequence_state(PREFIX)
        self._cache.cut(PREFIX, 0)
        self._cache.reserve(len(tokens))
        if not self._context.restore_sequence(PREFIX, state, len(tokens)):
            raise EngineError('llama.cpp does not take the state that it gave.')
        self._cache.extend(PREFIX, tokens)

    def batch_costs(self, is_canceled: Callable[[], bool]) -> BatchCosts | None:
        """
        Return what batches cost, known from disk or measured behind the prefix.

        :returns: None where there is no room to measure
        :raises EngineError: if it was canceled
        """
        known = JsonFile(self._store.folder / 'batch_costs.json') if self._store else None
        name = xxhash.xxh3_64_hexdigest(json.dumps(
            [self.state_facts() if known else '', self._context.threads]).encode())
        try:
            return BatchCosts(known.get(name) if known else ())
        except (TypeError, ValueError):
            costs = self._measure_batches(is_canceled)
        if costs is not None and known:
            known.put(name, list(costs.table().values()))
        return costs

    def _measure_batches(self, is_canceled: Callable[[], bool]) -> BatchCosts | None:
        start = len(self._cache.tokens(PREFIX))
        prefix = self._cache.tokens(PREFIX).tolist()
        lease = self._cache.lease(_MEASURED, [*prefix, 0], keep=start)

        def decode(size: int) -> float:
            begin = time.monotonic()
            if is_canceled() or not self._evaluator.evaluate(
                    lease.sequence, [0] * size, [size - 1]):
                raise EngineError('the warm-up was canceled.')
            seconds = time.monotonic() - begin
            self._cache.cut(lease.sequence, start)
            return seconds

        try:
            return BatchCosts.measure(decode)
        except ContextFull:
            return None
        finally:
            self._cache.release(lease.sequence)
            self._cache.forget(_MEASURED)

    def state_facts(self) -> dict[str, Any]:
        """Return all that an evaluated state depends on beside its tokens."""
        folder = str(self._store.folder) if self._store else ''
        return {**self._context.facts(), 'model': ModelFingerprints(folder).of(self._path)}

    def _restore(self, store: PrefixStore, key: PrefixKey) -> bool:
        """Load the prefix from disk; False where that cannot be done."""
        state = store.load(key)
        if state is None:
            return False
        self._cache.reserve(len(key.tokens))
        if not self._context.restore_sequence(PREFIX, state, len(key.tokens)):
            logger.warning('llama.cpp does not take the saved prefix; it is evaluated again')
            return False
        self._cache.extend(PREFIX, key.tokens)
        return True
