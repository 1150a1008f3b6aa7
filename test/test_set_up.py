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

"""The set-up refuses in words what it cannot use."""

import os
from pathlib import Path
import platform
import shutil
import sys

import llama_build
import pytest
import set_up


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Hide a sourced ROS 2 installation."""
    for name in ('ROS_DISTRO', 'AMENT_PREFIX_PATH'):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_without_ros_another_machine_needs_an_installation(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(platform, 'machine', lambda: 'aarch64')
    with pytest.raises(set_up.SetupError, match='aarch64. Install ROS 2'):
        set_up.Environment('kilted').check_python()
    bare.setenv('ROS_DISTRO', 'humble')
    bare.setenv('AMENT_PREFIX_PATH', '/opt/ros/humble')
    environment = set_up.Environment('kilted')
    environment.check_python()
    assert environment.system == 'humble' and environment.venv.name == '.venv-system-humble'


def test_a_python_without_wheels_is_refused(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(sys, 'version_info', (3, 9, 1))
    with pytest.raises(set_up.SetupError, match='3.9 cannot be used: ROS 2 needs 3.10 to 3.13'):
        set_up.Environment('kilted').check_python()


def test_a_machine_without_a_compiler_is_refused(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(shutil, 'which', lambda name: None)
    with pytest.raises(set_up.SetupError, match='apt install build-essential'):
        set_up.Environment('kilted').check_tools()
    bare.setattr(shutil, 'which', lambda name: None if name == 'cmake' else name)
    assert set_up.Environment('kilted').check_tools() == ['cmake<4']


def test_a_phase_is_done_once_for_what_it_is_made_from(tmp_path: Path) -> None:
    done: list[str] = []
    for key in ('a', 'a', 'b'):
        set_up.Environment.once(tmp_path / 'stamps' / 'x', key, lambda: done.append(key))
    assert done == ['a', 'b']


def test_a_phase_that_fails_shows_the_end_of_its_log(tmp_path: Path,
                                                     capsys: pytest.CaptureFixture) -> None:
    command = [sys.executable, '-c', 'print("[ 3/9] compiling"); print("no space"); exit(3)']
    with pytest.raises(set_up.SetupError, match=r'exit code 3(?s:.*)no space'):
        set_up.run_with_progress('building', command, dict(os.environ), tmp_path / 'log')
    assert '-- building' in capsys.readouterr().out


def test_exported_paths_of_another_machine_are_mended(bare: pytest.MonkeyPatch,
                                                      tmp_path: Path) -> None:
    """The wheels' CMake files name folders that exist only where they were built."""
    environment = set_up.Environment('kilted')
    environment.venv, environment.python = tmp_path, Path(sys.executable)
    file = tmp_path / 'share' / 'a' / 'export.cmake'
    file.parent.mkdir(parents=True)
    there = '/build/py/include/python3.11;/b/site-packages/numpy/_core/include;/usr/include'
    file.write_text(f'set(X "{there}")')
    environment.mend_cmake_paths()
    paths = file.read_text().split('"')[1].split(';')
    assert all(Path(p).exists() for p in paths) and paths[2] == '/usr/include'
    assert (Path(paths[0]) / 'Python.h').exists() and (Path(paths[1]) / 'numpy').exists()


def test_llama_is_built_without_amx_where_the_processor_lists_it(tmp_path: Path) -> None:
    info = tmp_path / 'cpuinfo'
    info.write_text('processor : 0\nflags\t\t: fpu avx avx2 avx512f amx_tile amx_int8\n')
    flags = llama_build.processor_flags(info)
    assert llama_build.cmake_arguments(flags) == (
        '-DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_AVX512=ON')
    assert llama_build.cmake_arguments(flags - {'amx_tile', 'amx_int8'}) == ''
    assert llama_build.processor_flags(tmp_path / 'missing') == frozenset()


def test_an_installed_library_with_amx_is_recognised(tmp_path: Path) -> None:
    folder = tmp_path / 'lib' / 'python3.12' / 'site-packages' / 'llama_cpp' / 'lib'
    folder.mkdir(parents=True)
    library = folder / 'libggml-cpu.so'
    library.write_bytes(b'\x7fELF ggml_backend_amx_mul_mat')
    assert llama_build.uses_amx(tmp_path)
    library.write_bytes(b'\x7fELF')
    assert not llama_build.uses_amx(tmp_path)
