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
"""
The energy that this machine has used, where it can measure it.

Jetsons measure the power of their rails (INA3221), Intel and AMD processors count energy (RAPL,
mostly for root only), and so do NVIDIA's graphics cards (NVML).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
import math
from pathlib import Path
import threading
import time

_PERIOD = 0.2  # seconds between two looks at a power
_BOARD_INPUTS = ('VDD_IN', 'VIN', '5V_IN')  # rails through which all power comes
_NO_RAIL = ('NC', 'sum of shunt voltages')

Joules = Callable[[], float]


def _number(path: Path) -> float:
    return float(path.read_text())


def _rails(root: Path) -> list[tuple[Path, Path]]:
    """Return the files of millivolts and milliamperes of the rails that count."""
    rails = {}
    for label in sorted(root.glob('bus/i2c/drivers/ina3221/*/hwmon/hwmon*/in*_label')):
        name, number = label.read_text().strip(), label.name[2:-len('_label')]
        current = label.with_name(f'curr{number}_input')
        if name not in _NO_RAIL and current.exists():
            rails[name] = label.with_name(f'in{number}_input'), current
    whole = [rails[name] for name in _BOARD_INPUTS if name in rails]
    return whole[:1] or list(rails.values())


class _Integral:
    """
    Adds up a power that is looked at from time to time.

    :param watt: returns it
    """

    def __init__(self, watt: Callable[[], float]) -> None:
        self._watt = watt
        self._joule = 0.0
        self._last = (time.monotonic(), watt())
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name='energy', daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(_PERIOD)
            self()

    def __call__(self) -> float:
        with self._lock:
            try:
                now = time.monotonic(), self._watt()
            except (OSError, ValueError):
                return self._joule
            self._joule += (now[0] - self._last[0]) * (now[1] + self._last[1]) / 2
            self._last = now
            return self._joule


def _board(root: Path) -> Joules | None:
    rails = _rails(root)
    if not rails:
        return None
    return _Integral(lambda: sum(_number(v) * _number(a) for v, a in rails) * 1e-6)


class _Counter:
    """
    Adds up an energy counter that begins again at zero.

    :param joule: returns it
    :param span: its largest value
    """

    def __init__(self, joule: Joules, span: float) -> None:
        self._read = joule
        self._span = span
        self._last = joule()
        self._sum = 0.0

    def __call__(self) -> float:
        try:
            now = self._read()
        except (OSError, ValueError):
            return self._sum
        self._sum += now - self._last if now >= self._last else now - self._last + self._span
        self._last = now
        return self._sum


def _processors(root: Path) -> Sequence[Joules]:
    found = []
    for folder in sorted(root.glob('class/powercap/intel-rapl:?')):
        try:
            span = _number(folder / 'max_energy_range_uj') * 1e-6
            found.append(_Counter(
                lambda path=folder / 'energy_uj': _number(path) * 1e-6, span))  # type: ignore
        except (OSError, ValueError):
            continue
    return found


def _graphics_card(library: str = 'libnvidia-ml.so.1') -> Joules | None:
    try:
        nvml = ctypes.CDLL(library)
        device = ctypes.c_void_p()
        total = ctypes.c_ulonglong()
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
            return None
        if nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(total)):
            return None
    except (OSError, AttributeError):
        return None

    def joule() -> float:
        if nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(total)):
            raise OSError('NVML')
        return total.value * 1e-3

    return _Counter(joule, 0.0)


class EnergyMeter:
    """
    Measures the energy of the whole board, or of its processor and graphics card together.

    :param root: of sysfs
    """

    def __init__(self, root: Path = Path('/sys')) -> None:
        board = _board(root)
        card = None if board else _graphics_card()
        self._sources = [board] if board else [
            *_processors(root), *([card] if card else [])]

    def joule(self) -> float:
        """Return the energy used since some moment; NaN where it cannot be measured."""
        return sum(source() for source in self._sources) if self._sources else math.nan
