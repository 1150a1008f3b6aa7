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

"""The README is true: its tables are the code's, its files are valid, its commands run."""

from collections.abc import Iterator
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys

from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.tool_file import ToolFile
import parameter_table
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
READMES = [name for name in ('README.md', 'README.zh.md') if (ROOT / name).exists()]
BLOCK = re.compile(r'(?:<!-- (needs [^>]*|run by a test) -->\n)?```(\w*)\n(.*?)```', re.S)
# Run elsewhere: make test by whoever reads this, make demo by test_main_job.
ELSEWHERE = {'make demo', 'make test'}


def _blocks(name: str, language: str) -> Iterator[tuple[str, str]]:
    for mark, kind, text in BLOCK.findall((ROOT / name).read_text()):
        if kind == language:
            yield mark, text


@pytest.mark.lint
def test_tables_of_parameters_are_those_of_the_code() -> None:
    wanted = parameter_table.files()
    assert len(wanted) == 1 + len(READMES) >= 2
    for path, text in wanted.items():
        assert path.read_text() == text, f'{path}: call scripts/parameter_table.py'
        assert 'context_tokens' in text


@pytest.mark.lint
@pytest.mark.parametrize('name', READMES)
def test_every_command_is_run_or_marked(name: str) -> None:
    blocks = list(_blocks(name, 'bash'))
    assert len(blocks) >= 3
    for mark, text in blocks:
        assert mark, f'{name}: neither run nor marked:\n{text}'


@pytest.mark.lint
@pytest.mark.parametrize('name', READMES)
def test_tool_files_in_the_text_are_valid(name: str, tmp_path: Path) -> None:
    texts = [text for _, text in _blocks(name, 'yaml')]
    texts += re.findall(r"<<'EOF'\n(.*?)EOF", (ROOT / name).read_text(), re.S)
    assert len(texts) >= 2
    for text in texts:
        path = tmp_path / 'tools.yaml'
        path.write_text(text)
        assert read_file(str(path), ToolFile).tools


@pytest.mark.lint
@pytest.mark.parametrize('name', READMES)
def test_links_and_keys_are_there(name: str) -> None:
    text = (ROOT / name).read_text()
    for target in re.findall(r'\]\(([^)#:]+)\)', text):
        assert (ROOT / target).exists(), f'{name}: {target}'
    outcomes = (ROOT / 'edge_llm_interfaces' / 'action' / 'Plan.action').read_text()
    for outcome in re.findall(r'uint8 ([A-Z]\w*)=', outcomes.split('---')[1])[1:]:
        assert outcome in text, f'{name}: outcome {outcome}'
    shipped = yaml.safe_load((ROOT / 'config' / 'simulated_robot.yaml').read_text())
    for key in {key for tool in shipped['tools'].values() for key in tool} - {'dry_run_result'}:
        assert f'`{key}' in text, f'{name}: key {key}'


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize('name', READMES[:1])
def test_the_commands_run_as_they_stand(name: str, demo_model: str, domain: int, tmp_path: Path
                                        ) -> None:
    """The first tool in three minutes, as a new user types it, in a copy of the repository."""
    scripts = [text for mark, text in _blocks(name, 'bash') if mark == 'run by a test']
    assert len(scripts) == 2
    for line in scripts[0].splitlines():
        assert line.split('#')[0].strip() in ELSEWHERE
    for entry in ('scripts', 'config', 'build', 'Makefile'):
        (tmp_path / entry).symlink_to(ROOT / entry)
    script = scripts[1].replace('make setup\n', 'trap "kill 0" EXIT\n')
    environment = {**os.environ, 'DISTRO': os.environ.get('DISTRO', 'kilted')}
    process = subprocess.Popen(
        ['bash', '-ec', script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=350)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert 'move_to {"place": "kitchen"}' in output, output
    assert 'restore_world {}' in output, output
    assert output.count('SUCCEEDED') >= 2, output
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_an_interface_package_that_is_missing_is_said(tmp_path: Path) -> None:
    code = ('import sys; sys.modules["edge_llm_interfaces"] = None; '
            'from edge_llm_ros.entry_points import planner; sys.exit(planner())')
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 2 and 'Traceback' not in result.stderr
    line = 'colcon build --base-paths src src/edge_llm_ros/edge_llm_interfaces'
    assert line in result.stderr and line in (ROOT / 'README.md').read_text()


def test_doctor_tells_what_is_here(test_model: str, tmp_path: Path) -> None:
    command = [sys.executable, '-m', 'edge_llm_ros.cli.main', 'doctor', '--model']
    result = subprocess.run([*command, test_model], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout
    for what in ('ROS 2', 'rmw_', 'llama-cpp-python 0.3.36', 'chat format', 'chatml', 'memory'):
        assert what in result.stdout
    wrong = tmp_path / 'model.gguf'
    wrong.write_bytes(b'no model')
    result = subprocess.run([*command, str(wrong)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 1 and 'ERROR' in result.stdout and 'not a GGUF' in result.stdout
