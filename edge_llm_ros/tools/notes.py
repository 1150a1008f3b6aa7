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

"""What a robot was told to remember, and finds again in later goals."""

from __future__ import annotations

from collections.abc import Mapping
import json
import logging
from pathlib import Path
import threading
from typing import Any

from edge_llm_ros.flow.atomic_file import FileLock, write_file
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.canonical_json import canonical_json
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.text_index import TextIndex
from edge_llm_ros.flow.tool import Observation, Status
from edge_llm_ros.tools.builtins import NOTE_LENGTH, SUBJECT_LENGTH
from edge_llm_ros.tools.refused import Refused
from edge_llm_ros.tools.strict_model import StrictModel
from pydantic import Field, ValidationError

logger = logging.getLogger(__name__)

_TOLD = 3  # notes at most, where none is about just what was asked
_LIKE = 0.5  # as the one most like it, at least
_EMPTY_WORDS = frozenset((
    'a an the of to in on at is are was were be do does did i you he she it we they my your his '
    'her its our their me him us them this that these those what which who where when how why '
    'about for and or with ? !').split()) | frozenset('的了是在吗呢我你他她它们这那有和么什哪里？！')


class Note(StrictModel):
    """Something that was remembered."""

    about: str = Field(min_length=1, max_length=SUBJECT_LENGTH)
    text: str = Field(min_length=1, max_length=NOTE_LENGTH)


class _NoteFile(StrictModel):
    notes: list[Note]


class Notes:
    """
    A robot's notes, the latest last; whenever one is added, the oldest beyond their number go.

    :param most: notes that are kept
    :param path: of a file that keeps them across restarts, which one process at a time has; None
        for as long as this lives
    :raises ConfigError: if there is such a file and it cannot be had or read
    """

    def __init__(self, most: int, path: Path | None = None) -> None:
        self._most = most
        self._path = path
        self._lock = threading.Lock()
        self._notes: list[Note] = []
        self._file_lock: FileLock | None = None
        if path is not None:
            try:
                self._file_lock = FileLock(path)
            except BlockingIOError:
                raise ConfigError(f'notes_file: {path}: another planner keeps its notes there. '
                                  'Give each a file of its own.') from None
            except OSError as error:
                raise ConfigError(f'notes_file: {path} cannot be written: {error.strerror}. Give '
                                  'another file, or none.') from None
            try:
                self._notes = _read(path)
            except ConfigError:
                self.close()
                raise

    def close(self) -> None:
        """Let another process have the file."""
        if self._file_lock is not None:
            self._file_lock.release()
            self._file_lock = None

    def __len__(self) -> int:
        return len(self._notes)

    def remember(self, about: str, text: str) -> None:
        """
        Keep a note; one about the same is replaced.

        :raises OSError: if it cannot be written; then it is not kept
        """
        with self._lock:
            rest = [note for note in self._notes if _key(note.about) != _key(about)]
            notes = [*rest, Note(about=about, text=text)][-self._most:]
            if self._path is not None:
                write_file(self._path, _NoteFile(notes=notes).model_dump_json(indent=1))
            self._notes = notes

    def recall(self, about: str) -> str | None:
        """Return the note about just this; else those most like it, a line each; else None."""
        with self._lock:
            notes = self._notes[::-1]  # of equally good ones, the latest
        for note in notes:
            if _key(note.about) == _key(about):
                return note.text
        lines = [f'{note.about}: {note.text}' for note in notes]
        nearest = TextIndex(lines, alike=False, ignored=_EMPTY_WORDS).nearest(
            about, _TOLD, _LIKE)
        return '\n'.join(lines[i] for i in reversed(nearest)) or None


def _key(about: str) -> str:
    return ' '.join(about.casefold().split())


def _read(path: Path) -> list[Note]:
    try:
        return _NoteFile.model_validate(json.loads(path.read_text(encoding='utf-8'))).notes
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValidationError as error:
        first = error.errors()[0]
        reason = f'{".".join(map(str, first["loc"]))}: {first["msg"]}'
    except (ValueError, RecursionError) as error:
        reason = str(error)
    raise ConfigError(f'notes_file: {path} cannot be read: {reason}. Mend the file or move it '
                      'away.')


class RememberTool:
    """The built-in tool that keeps a note."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def call(self, arguments: Mapping[str, Any], cancellation: Cancellation, dry_run: bool
             ) -> Observation:
        """Keep a note; a dry run keeps none."""
        about = _text(arguments, 'about', SUBJECT_LENGTH)
        text = _text(arguments, 'text', NOTE_LENGTH)
        _only(arguments, 'about', 'text')
        if dry_run:
            return Observation(Status.DRY_RUN, canonical_json({'remembered': about}))
        try:
            self._notes.remember(about, text)
        except OSError as error:
            logger.warning('notes_file: %s', error)
            reason = f'it cannot be written down: {error.strerror}'
            return Observation(Status.FAILED, canonical_json({'error': reason}), reason)
        return Observation(Status.SUCCEEDED, canonical_json({'remembered': about}))


class RecallTool:
    """The built-in tool that finds notes."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def call(self, arguments: Mapping[str, Any], cancellation: Cancellation, dry_run: bool
             ) -> Observation:
        """Find notes, null for none; a dry run does, too."""
        about = _text(arguments, 'about', SUBJECT_LENGTH)
        _only(arguments, 'about')
        return Observation(
            Status.SUCCEEDED, canonical_json({'note': self._notes.recall(about)}))


def _text(arguments: Mapping[str, Any], name: str, length: int) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip() or len(value) > length:
        raise Refused(f'argument {name} must be a text of 1 to {length} characters')
    return value.strip()


def _only(arguments: Mapping[str, Any], *allowed: str) -> None:
    unknown = [name for name in arguments if name not in allowed]
    if unknown:
        raise Refused(f'unknown argument {unknown[0]!r}; allowed: {", ".join(allowed)}')
