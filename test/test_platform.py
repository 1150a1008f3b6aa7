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
"""Energy, bandwidth and speed of a machine, on trees of files like those that machines have."""

import math
from pathlib import Path
import time

from edge_llm_ros.flow.engine import ModelInfo
from edge_llm_ros.platform import energy
from edge_llm_ros.platform.bandwidth import measured_bandwidth
from edge_llm_ros.platform.energy import EnergyMeter
from edge_llm_ros.platform.model_speed import model_speed
import pytest


@pytest.fixture(autouse=True)
def without_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a graphics card of this machine."""
    monkeypatch.setattr(energy, '_graphics_card', lambda: None)


def _rail(root: Path, number: int, label: str, millivolt: int, milliampere: int) -> None:
    folder = root / 'bus' / 'i2c' / 'drivers' / 'ina3221' / '1-0040' / 'hwmon' / 'hwmon3'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f'in{number}_label').write_text(label + '\n')
    (folder / f'in{number}_input').write_text(f'{millivolt}\n')
    (folder / f'curr{number}_input').write_text(f'{milliampere}\n')


def test_a_board_that_measures_its_input(tmp_path: Path) -> None:
    _rail(tmp_path, 1, 'VDD_IN', 5000, 2000)
    _rail(tmp_path, 2, 'VDD_CPU_GPU_CV', 5000, 1000)
    _rail(tmp_path, 7, 'sum of shunt voltages', 1, 1)
    meter = EnergyMeter(tmp_path)
    start, begin = meter.joule(), time.monotonic()
    time.sleep(0.5)
    used, seconds = meter.joule() - start, time.monotonic() - begin
    assert used == pytest.approx(10 * seconds, rel=0.05)


def test_a_board_that_measures_parts(tmp_path: Path) -> None:
    _rail(tmp_path, 1, 'VDD_GPU', 5000, 1000)
    _rail(tmp_path, 2, 'VDD_CPU', 5000, 1000)
    _rail(tmp_path, 3, 'NC', 5000, 9000)
    meter = EnergyMeter(tmp_path)
    start, begin = meter.joule(), time.monotonic()
    time.sleep(0.3)
    assert meter.joule() - start == pytest.approx(10 * (time.monotonic() - begin), rel=0.08)


def test_a_processor_that_counts_and_begins_again(tmp_path: Path) -> None:
    folder = tmp_path / 'class' / 'powercap' / 'intel-rapl:0'
    folder.mkdir(parents=True)
    (folder / 'max_energy_range_uj').write_text('10000000\n')
    counter = folder / 'energy_uj'
    counter.write_text('9000000\n')
    meter = EnergyMeter(tmp_path)
    counter.write_text('9500000\n')
    assert meter.joule() == pytest.approx(0.5)
    counter.write_text('1000000\n')
    assert meter.joule() == pytest.approx(2.0)
    counter.unlink()
    assert meter.joule() == pytest.approx(2.0), 'a counter that is gone counts no more'


def test_a_machine_that_cannot_measure(tmp_path: Path) -> None:
    assert math.isnan(EnergyMeter(tmp_path).joule())


def test_bandwidth_is_measured() -> None:
    assert 1e9 < measured_bandwidth(2) < 1e13


def _info(gpu_layers: int) -> ModelInfo:
    return ModelInfo(
        path='m.gguf', name='m', architecture='a', description='d', size_bytes=10**9,
        context_tokens=1, trained_context_tokens=1, vocabulary=1, add_bos=False, bos_text='',
        eos_text='', chat_template='', special_tokens=(), layers=20, gpu_layers=gpu_layers)


@pytest.mark.parametrize('decode, large, gpu_layers, slow', [
    (0.02, 0.08, 21, False),  # 50 tokens/s of 100, prefill 8 times as fast
    (0.025, 0.1, 21, True),  # 40 of 100: below half
    (0.01, 0.1, 21, True),  # prefill gains 3.2: below half of 8
    (0.1, 0.4, 0, False),  # a CPU may be slower than its memory
    (0.1, 3.4, 0, True)])  # but not slower in large batches than one by one
def test_what_is_too_slow_is_said_with_both_figures(
        decode: float, large: float, gpu_layers: int, slow: bool) -> None:
    speed = model_speed(_info(gpu_layers), {1: decode, 32: large}, 100e9)
    assert speed is not None and bool(speed.warning) is slow
    if slow:
        assert f'decode runs at {1 / decode:.1f}' in speed.warning
        assert f'prefill at {32 / large:.0f}' in speed.warning


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert model_speed(_info(1), {}, 100e9) is None
