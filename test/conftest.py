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

"""What tests share: models, a fresh ROS domain each, and nodes in processes of their own."""

from collections.abc import Iterator
import itertools
import os
from pathlib import Path
import random

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import EngineConfig
import pytest
import rclpy
from rclpy.node import Node
from robot_bench import Bench
from tiny_models import write_tiny_model

CACHE = Path(os.environ.get('XDG_CACHE_HOME')
             or Path.home() / '.cache') / 'edge_llm_ros' / 'models'
# pytest-xdist's workers, each with cores and ROS domains of its own.
_WORKER = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))
_WORKERS = int(os.environ.get('PYTEST_XDIST_WORKER_COUNT', '1'))
_DOMAINS = 100 // _WORKERS
_domains = itertools.count(random.SystemRandom().randrange(_DOMAINS))


def pytest_sessionstart() -> None:
    """Keep a worker and what it starts to its cores: llama.cpp's threads wait by spinning."""
    cores = sorted(os.sched_getaffinity(0))
    if 1 < _WORKERS <= len(cores):
        os.sched_setaffinity(0, cores[_WORKER::_WORKERS])


def _model(name: str) -> str:
    path = CACHE / name
    assert path.exists(), f'{path} is missing; call: make models'
    return str(path)


@pytest.fixture(scope='session')
def test_model() -> str:
    """SmolLM2-135M: fast, and too small to plan."""
    return _model('smollm2-135m-instruct-q4_1.gguf')


@pytest.fixture(scope='session')
def demo_model() -> str:
    """Qwen2.5-Coder-1.5B: plans short missions."""
    return _model('qwen2.5-coder-1.5b-instruct-q4_k_m.gguf')


@pytest.fixture(scope='session')
def llama3_model(test_model: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return SmolLM2 with the role tokens and the template of Llama 3."""
    from gguf_rename import with_llama3_frames
    target = tmp_path_factory.mktemp('models') / 'llama3.gguf'
    with_llama3_frames(test_model, str(target))
    return str(target)


@pytest.fixture(scope='session')
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a model with random weights: loads at once, and makes any call that it may."""
    path = tmp_path_factory.mktemp('tiny') / 'full.gguf'
    write_tiny_model(path, 'full')
    return str(path)


@pytest.fixture(scope='session')
def engine(test_model: str) -> Iterator[LocalEngine]:
    """Return an engine with the test model; tests warm it up themselves."""
    engine = LocalEngine(EngineConfig(model_path=test_model, context_tokens=2048, max_sessions=4))
    yield engine
    engine.close()


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """Give this test, and the processes that it starts, a ROS domain and home of their own."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros_home'))
    number = _WORKER * _DOMAINS + next(_domains) % _DOMAINS + 1
    monkeypatch.setenv('ROS_DOMAIN_ID', str(number))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    return number


@pytest.fixture
def node(domain: int) -> Iterator[Node]:
    """Return a node of the test itself, spun only while the test waits."""
    rclpy.init()
    node = rclpy.create_node('test_node')
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture
def bench(node: Node, tmp_path: Path) -> Iterator[Bench]:
    """Return a bench on which a simulated robot and planners run as processes."""
    bench = Bench(node, tmp_path)
    yield bench
    bench.stop()
