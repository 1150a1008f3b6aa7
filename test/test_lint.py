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

"""Style, types, layers and licences: the rules of ament's linters, without ament's programs."""

import ast
from pathlib import Path
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from catkin_pkg.package import parse_package
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'edge_llm_ros'
SOURCES = sorted(p for folder in ('edge_llm_ros', 'test', 'scripts', 'launch')
                 for p in (ROOT / folder).rglob('*.py'))
PEP257_IGNORED = 'D100,D101,D102,D103,D104,D105,D106,D107,D203,D212,D404'
# Who may import whom. `platform` is for those at the end of the arrows only.
MAY_IMPORT = {
    'flow': set(),
    'engine': {'flow'},
    'prompt': {'flow'},
    'tools': {'flow'},
    'program': {'flow', 'prompt'},
    'agent': {'flow', 'prompt', 'program', 'tools'},
    'platform': {'flow'},
    'trace': {'flow'},
    'ros': {'flow', 'engine', 'prompt', 'program', 'tools', 'agent', 'platform', 'trace'},
    'bench': {'flow', 'engine', 'prompt', 'tools', 'agent', 'platform'},
    'sim': set(),
    'eval': {'flow', 'engine', 'prompt', 'program', 'tools', 'agent', 'sim', 'bench'},
    'cli': {'flow', 'engine', 'prompt', 'tools', 'agent', 'platform', 'ros', 'sim', 'bench',
            'trace', 'eval'},
}
WITH_ROS = {'ros', 'sim', 'cli'}
ROS_MODULES = re.compile(r'rclpy|rosidl_\w+|\w+_msgs|\w+_interfaces|std_srvs|ament_\w+|launch\w*')
pytestmark = pytest.mark.lint


def _run(*command: str) -> None:
    result = subprocess.run([sys.executable, '-m', *command],
                            cwd=ROOT,
                            capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_flake8() -> None:
    _run('flake8', *map(str, SOURCES), 'setup.py')


def test_pep257() -> None:
    _run('pydocstyle', f'--ignore={PEP257_IGNORED}', *map(str, PACKAGE.rglob('*.py')), 'scripts')


def test_types() -> None:
    _run('mypy', '--cache-dir', str(ROOT / 'build' / 'mypy'))


@pytest.mark.parametrize('path', SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_copyright(path: Path) -> None:
    head = path.read_text()[:900]
    assert head.startswith('# Copyright 20') and 'Apache License, Version 2.0' in head


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}: relative import'
            names |= {f'{node.module}.{alias.name}' for alias in node.names}
    return names


@pytest.mark.parametrize('layer', sorted(MAY_IMPORT))
def test_imports_go_one_way(layer: str) -> None:
    assert {p.name
            for p in PACKAGE.iterdir() if p.is_dir() and p.name[0] != '_'} == set(MAY_IMPORT)
    for path in (PACKAGE / layer).rglob('*.py'):
        for name in _imports(path):
            parts = name.split('.')
            if parts[0] == 'edge_llm_ros':
                assert parts[1] in MAY_IMPORT[layer] | {layer}, f'{path} imports {name}'
            elif ROS_MODULES.fullmatch(parts[0]):
                assert layer in WITH_ROS, f'{path} imports {name}'
            if parts[0] == 'llama_cpp':
                peers = [PACKAGE / layer / 'peers' for layer in ('bench', 'eval')]
                assert path.parent in (PACKAGE / 'engine' / 'llama', *peers), path


def test_package_files_are_valid() -> None:
    for folder in (ROOT, ROOT / 'edge_llm_interfaces'):
        warnings: list[str] = []
        package = parse_package(str(folder), warnings=warnings)
        package.validate(warnings=warnings)
        assert not warnings


def test_documentation_builds(tmp_path: Path) -> None:
    _run('sphinx', '-W', '-q', '-b', 'html', 'doc', str(tmp_path))
    assert (tmp_path / 'troubleshooting.html').exists()


@pytest.mark.skipif(shutil.which('hadolint') is None, reason='hadolint has wheels for x86-64 only')
def test_dockerfile() -> None:
    command = ['hadolint', 'docker/Dockerfile.jetson']
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_versions_and_names_agree() -> None:
    versions = set()
    for path in (ROOT / 'package.xml', ROOT / 'edge_llm_interfaces' / 'package.xml'):
        root = xml.etree.ElementTree.parse(path).getroot()
        assert root.get('format') == '3'
        assert root.findtext('license') == 'Apache-2.0' and '@' in root.find('maintainer').get(
            'email')
        versions.add(root.findtext('version'))
    versions.add(re.search(r"version='([^']+)'", (ROOT / 'setup.py').read_text())[1])
    assert len(versions) == 1, versions


def test_no_absolute_names_no_machine_paths() -> None:
    """ROS names stay relative, and nothing of a developer's machine is in the repository."""
    tracked = subprocess.run(['git', 'ls-files'],
                             cwd=ROOT,
                             capture_output=True,
                             text=True,
                             check=True)
    for name in tracked.stdout.split():
        text = (ROOT / name).read_text(errors='replace')
        assert not re.search(r'/(root|home/\w+|work)/(?!\$)',
                             text) or name == 'test/test_lint.py', name
        if name.startswith(('edge_llm_ros/', 'launch/')) and name.endswith('.py'):
            found = re.search(r"""(create_\w+|Action(Client|Server))\([^)]*['"]/\w""", text)
            assert not found, f'{name}: {found}'
