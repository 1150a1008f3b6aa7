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

"""What the KV memory saves and costs, on one model in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
import os
from pathlib import Path
import tempfile
import time

from edge_llm_ros.bench.engine_arm import EngineArm
from edge_llm_ros.bench.row import Row, row
from edge_llm_ros.bench.workload import filler, Workload, workloads
from edge_llm_ros.engine.llama.context import DECODE_OK
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import EngineConfig
import numpy as np

Tell = Callable[[str], None]
_COUNTED = ('four_turn', 'ten_turn', 'eight_sessions', 'drop_thinking', 'long_then_short',
            'restart', 'spill')
_PREFIXES = (256, 512, 1024, 2048, 4096)
_SUFFIX = 32
_FORK_CELLS = 4096


def _config(model_path: str, workload: Workload, folder: str) -> EngineConfig:
    return EngineConfig(model_path=model_path, context_tokens=workload.context, max_sessions=10,
                        prefix_folder=folder, spill_bytes=1 << 30)


def counts(model_path: str, scale: float, tell: Tell) -> Iterator[Row]:
    """Count what is evaluated beside what is new, with and without the cache."""
    for workload in workloads():
        if workload.name not in _COUNTED:
            continue
        workload = workload.scaled(scale)
        with tempfile.TemporaryDirectory() as folder:
            for arm, reuse in (('ours', True), ('ours_nocache', False)):
                if not reuse and workload.name not in ('four_turn', 'ten_turn'):
                    continue
                config = replace(_config(model_path, workload, folder), reuse=reuse)
                yield from _counted(EngineArm(config), arm, workload, tell)


def _counted(engine: EngineArm, arm: str, workload: Workload, tell: Tell) -> Iterator[Row]:
    try:
        results = list(engine.run(workload))
    finally:
        engine.close()
    new = sum(result.new for result in results)
    prefill = sum(result.prefill for result in results)
    first = [result.completion.first_token for result in results]
    tell(f'{workload.name}, {arm}: {prefill} tokens evaluated, {new} are new, {len(results)} '
         'calls')
    yield row(workload.name, arm, 'prefill_tokens', [prefill], 'tokens')
    yield row(workload.name, arm, 'new_tokens', [new], 'tokens')
    yield row(workload.name, arm, 'calls', [len(results)], 'calls')
    yield row(workload.name, arm, 'ttft_s', first, 's')


def first_token_by_prefix(model_path: str, repeats: int, tell: Tell) -> Iterator[Row]:
    """Measure a new session's time to first token behind prefixes of several lengths."""
    for prefix in _PREFIXES:
        arm = EngineArm(EngineConfig(
            model_path=model_path, context_tokens=prefix + 512, max_sessions=2))
        tokens = filler(arm.tokenize, prefix, 'prefix')
        arm.warm_up(tokens)
        times = []
        for number in range(repeats + 1):
            message = filler(arm.tokenize, _SUFFIX, str(number))
            times.append(arm.generate(f's{number}', tokens + message).first_token)
            arm.engine.release(f's{number}')
        arm.close()
        figure = row(f'new_session_{prefix}', 'ours', 'ttft_s', times[1:], 's')
        tell(f'prefix of {prefix}: first token after {figure.median:.3f} s')
        yield figure


def forks(model_path: str, repeats: int, tell: Tell) -> Iterator[Row]:
    """Measure a fork of thousands of cells, and the cells that eight of them take."""
    engine = LocalEngine(EngineConfig(
        model_path=model_path, context_tokens=_FORK_CELLS + 256, max_sessions=8))
    cache = engine._cache
    prefix = filler(lambda text: engine.tokenize(text, False), _FORK_CELLS, 'p')
    for _ in engine.warm_up(prefix):
        pass
    free = cache.free_cells
    leases = []
    for number in range(4 * repeats):
        start = time.perf_counter()
        lease = cache.lease(f's{number}', [*prefix, number], _FORK_CELLS)
        leases.append(time.perf_counter() - start)
        cache.release(lease.sequence)
        cache.forget(f's{number}')
    cache.clear_sessions()
    times = []
    for _ in range(repeats):
        for number in range(1, 9):
            start = time.perf_counter()
            cache.fork(0, number, _FORK_CELLS)
            times.append(time.perf_counter() - start)
        extra = free - _room(engine)
        for number in range(1, 9):
            cache.drop(number)
    engine.close()
    figure = row('fork', 'ours', 'fork_s', times, 's')
    found = row('fork', 'ours', 'new_session_s', leases, 's')
    tell(f'fork of {_FORK_CELLS} cells: {figure.median * 1e6:.0f} µs, {extra} cells for eight; a '
         f'new session waits {found.median * 1e6:.0f} µs for its own')
    yield figure
    yield found
    yield row('fork', 'ours', 'extra_cells', [extra], 'cells')


def _room(engine: LocalEngine) -> int:
    """Return how many tokens llama.cpp itself finds room for, which stay evaluated nowhere."""
    context, tokens = engine._context, 0
    length = context.sequence_length(1)
    while context.decode(1, length + tokens, [1] * 16) == DECODE_OK:
        tokens += 16
    context.cut_sequence(1, length)
    return tokens


def configure(model_path: str, prefix: int, repeats: int, tell: Tell) -> Iterator[Row]:
    """Measure a cold warm-up, and one with the prefix on disk beside reading its bytes."""
    with tempfile.TemporaryDirectory() as folder:
        config = EngineConfig(model_path=model_path, context_tokens=prefix + 512, max_sessions=2,
                              prefix_folder=folder)
        arm = EngineArm(config)
        tokens = filler(arm.tokenize, prefix, 'prefix')
        cold = arm.warm_up(tokens)
        file, = Path(folder).glob('*.prefix')
        warm, reads = [], []
        for _ in range(repeats):
            warm.append(arm.restart(tokens))
            start = time.perf_counter()
            np.fromfile(file, np.uint8)
            reads.append(time.perf_counter() - start)
        arm.close()
        size = file.stat().st_size
    name = f'restart_{prefix}'
    figures = [row(name, 'ours', 'cold_s', [cold], 's'), row(name, 'ours', 'warm_s', warm, 's'),
               row(name, 'ours', 'read_s', reads, 's'),
               row(name, 'ours', 'payload_bytes', [size], 'bytes')]
    tell(f'prefix of {prefix}: cold {cold:.2f} s, from disk {figures[1].median:.3f} s, of which '
         f'reading {size / 1e6:.1f} MB is {figures[2].median:.3f} s')
    yield from figures


def resident_bytes() -> int:
    """Return the memory of this process that is its own: RssAnon and VmSwap."""
    status = Path(f'/proc/{os.getpid()}/status').read_text()
    lines = dict(line.split(':', 1) for line in status.splitlines())
    return sum(int(lines[name].split()[0]) * 1024 for name in ('RssAnon', 'VmSwap'))


def growth(model_path: str, steps: int, tell: Tell) -> Iterator[Row]:
    """Measure how memory grows over many steps of sessions that come and go."""
    arm = EngineArm(EngineConfig(model_path=model_path, context_tokens=1024, max_sessions=3,
                                 spill_bytes=1 << 22, chunk_seconds=1.0))
    prefix = filler(arm.tokenize, 256, 'prefix')
    arm.warm_up(prefix)
    sessions: dict[str, tuple[int, ...]] = {}
    settled = 0
    for step in range(steps + steps // 20):
        if step == steps // 20:
            settled = resident_bytes() - arm.spilled_bytes
        session = f's{step % 5}'
        tokens = sessions.get(session, prefix) + filler(arm.tokenize, 24, str(step))
        tokens = tokens if len(tokens) < 600 else prefix + tokens[-24:]
        sessions[session] = tokens + arm.generate(session, tokens).tokens
    # What is spilled has a budget of its own, which fills after this.
    share = (resident_bytes() - arm.spilled_bytes) / settled - 1
    arm.close()
    tell(f'memory grew by {share:.2%} over {steps} steps')
    yield row('growth', 'ours', 'memory_growth', [share], 'share')
