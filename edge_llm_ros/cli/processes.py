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

"""Starts nodes as processes of their own and makes sure that they end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import signal
import subprocess
import sys
from typing import Any

import yaml

_END_SECONDS = 10.0


class NodeProcess:
    """
    A node of this package in a process of its own.

    :param module: such as edge_llm_ros.ros.planner_node
    :param node: name of the node
    :param parameters: of the node
    :param folder: takes its parameter file and its log
    :param namespace: of the node
    """

    def __init__(self, module: str, node: str, parameters: Mapping[str, Any], folder: Path,
                 namespace: str = '') -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f'{node}.yaml'
        file.write_text(yaml.safe_dump({'/**': {'ros__parameters': dict(parameters)}}))
        self.log = folder / f'{node}.log'
        arguments = ['--ros-args', '--params-file', str(file), '-r', f'__node:={node}']
        arguments += ['-r', f'__ns:={namespace}'] if namespace else []
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', module, *arguments], stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True)

    @property
    def running(self) -> bool:
        """Say whether the process lives."""
        return self.process.poll() is None

    def log_text(self) -> str:
        """Return what the node has printed."""
        return self.log.read_text(errors='replace')

    def stop(self, how: int = signal.SIGINT) -> int:
        """
        End the process: politely, then not.

        :returns: its exit code
        """
        for number in (how, signal.SIGTERM, signal.SIGKILL):
            if not self.running:
                break
            self.process.send_signal(number)
            try:
                self.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        return self.process.wait(_END_SECONDS)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
