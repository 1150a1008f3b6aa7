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

"""What was started on the robot and has not ended yet, in a file that outlives this process."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import json
import os
from pathlib import Path
import threading
from typing import Any

from edge_llm_ros.flow.atomic_file import FileLock, write_file
from edge_llm_ros.flow.errors import ConfigError


@dataclass(frozen=True)
class Started:
    """
    Something that goes on until it ends or is stopped.

    :param kind: action or publish
    :param target: resolved name of the action or the topic
    :param goal_id: of an action's goal, in hexadecimal; empty for a publish
    :param tries: configures that tried to stop it in vain
    """

    kind: str
    target: str
    goal_id: str = ''
    tries: int = 0


class GoalJournal:
    """
    Remembers what was started; each change is on the disk before the call goes on.

    One process at a time has a journal: a second planner of the same name would take what the
    first has started for that of a dead one.

    :param path: of the file; None to remember while the process lives only
    :raises ConfigError: if the file cannot be written or another process has it
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._entries: list[Started] = []
        self._stopped = False
        self.damage = ''
        self._file_lock: FileLock | None = None
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        try:
            self._file_lock = FileLock(path)
            self._read(path)
            self._write(sync=True)
        except BlockingIOError:
            self.close()
            raise ConfigError(
                f'{path}: another planner of this name runs and keeps its journal there. Give '
                f'this one another name, or another journal_folder.') from None
        except OSError as error:
            self.close()
            raise ConfigError(
                f'journal_folder: {path} cannot be written: {error.strerror}. Without it, a '
                f'robot could go on moving when the planner dies.') from None

    def _read(self, path: Path) -> None:
        try:
            content = json.loads(path.read_text())
            self._entries = [Started(**entry) for entry in content['started']]
            self._stopped = content['stopped'] is True
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError) as error:
            self.damage = f'{path} cannot be read ({error}); what was started is not known'

    @property
    def stopped(self) -> bool:
        """Say whether an operator had stopped the robot."""
        return self._stopped

    def entries(self) -> tuple[Started, ...]:
        """Return what has not ended yet, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def add(self, started: Started) -> None:
        """
        Remember something before it is started.

        :raises OSError: if it cannot be written; then it must not be started
        """
        with self._lock:
            self._entries.append(started)
            try:
                self._write(sync=True)
            except OSError:
                self._entries.remove(started)
                raise

    def remove(self, started: Started) -> None:
        """Forget something that has ended."""
        with self._lock:
            if started in self._entries:
                self._entries.remove(started)
                # Not synced: an entry too many is only stopped once more.
                self._write_if_possible(sync=False)

    def replace(self, old: Started, new: Started) -> None:
        """Change an entry."""
        with self._lock:
            self._entries = [new if entry == old else entry for entry in self._entries]
            self._write_if_possible(sync=True)

    def set_stopped(self, stopped: bool) -> None:
        """Remember whether an operator has stopped the robot."""
        with self._lock:
            self._stopped = stopped
            self._write_if_possible(sync=True)

    def _write_if_possible(self, sync: bool) -> None:
        try:
            self._write(sync)
        except OSError as error:
            self.damage = f'{self._path} cannot be written: {error.strerror}'

    def _write(self, sync: bool) -> None:
        if self._path is None or self._file_lock is None:
            return
        content: dict[str, Any] = {
            'stopped': self._stopped, 'started': [asdict(entry) for entry in self._entries]}
        write_file(self._path, json.dumps(content), sync)

    def close(self) -> None:
        """Let another process have the journal."""
        if self._file_lock is not None:
            self._file_lock.release()
            self._file_lock = None


def journal_path(folder: str, node_name: str) -> Path:
    """
    Return the file of a node's journal.

    :param folder: of the parameter; empty for one of ROS's own, which ROS_HOME may move
    :param node_name: fully qualified
    """
    home = os.environ.get('ROS_HOME') or os.path.join(os.path.expanduser('~'), '.ros')
    place = Path(os.path.expanduser(os.path.expandvars(folder)) if folder else os.path.join(
        home, 'edge_llm_ros'))
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    return place / f'domain_{domain}{node_name.replace("/", ".")}.json'
