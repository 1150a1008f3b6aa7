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
How llama.cpp is built for the processor of this machine.

It is built for the processor that it finds, except for AMX: virtual machines list it and fault at
its first instruction (ldtilecfg, seen on a Xeon), which llama.cpp cannot know. Robots have none.
"""

from collections.abc import Mapping
from pathlib import Path

_OPTIONS = {
    'sse4_2': 'SSE42', 'avx': 'AVX', 'avx2': 'AVX2', 'bmi2': 'BMI2', 'fma': 'FMA', 'f16c': 'F16C',
    'avx512f': 'AVX512', 'avx512_vnni': 'AVX512_VNNI', 'avx512vbmi': 'AVX512_VBMI',
    'avx512_bf16': 'AVX512_BF16'}


def processor_flags(path: Path = Path('/proc/cpuinfo')) -> frozenset:
    """Return what the processor says that it can do; empty where it does not say."""
    lines = path.read_text(errors='replace').splitlines() if path.is_file() else []
    found = next((line.split(':', 1)[1] for line in lines if line.startswith('flags')), '')
    return frozenset(found.split())


def cmake_arguments(flags: frozenset) -> str:
    """Return the CMAKE_ARGS that leave AMX out; empty where the processor has none."""
    if not any(flag.startswith('amx') for flag in flags):
        return ''
    options = [f'-DGGML_{option}=ON' for flag, option in _OPTIONS.items() if flag in flags]
    return ' '.join(['-DGGML_NATIVE=OFF', *options])


def with_cmake_arguments(environment: Mapping) -> dict:
    """Return an environment in which llama.cpp is built without AMX, unless it says how itself."""
    said = environment.get('CMAKE_ARGS', '')
    options = '' if 'GGML_NATIVE' in said else cmake_arguments(processor_flags())
    return {**environment, 'CMAKE_ARGS': f'{options} {said}'.strip()}


def uses_amx(venv: Path) -> bool:
    """Say whether the library that is installed has the AMX kernels, from an older set-up, say."""
    libraries = venv.glob('lib/python*/site-packages/llama_cpp/lib/libggml-cpu*')
    return any(b'ggml_backend_amx_mul_mat' in library.read_bytes() for library in libraries)
