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

"""A call of a tool, and what it tells before it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import queue
import threading

from edge_llm_ros.flow.tool import Observation


class Working:
    """
    A call of the toolset, and its feedback.

    :param work: takes a function for lines of feedback
    :param apart: whether it works in a thread of its own, so that feedback is passed on meanwhile;
        where none comes, that would only cost the two changes of threads
    """

    def __init__(self, work: Callable[[Callable[[str], None]], Observation], apart: bool) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._observation: Observation | None = None
        self._error: BaseException | None = None
        self._work = work
        self._thread: threading.Thread | None = None
        if apart:
            self._thread = threading.Thread(target=self._run, name='tool call', daemon=True)
            self._thread.start()
        else:
            self._run()

    def _run(self) -> None:
        try:
            self._observation = self._work(self._lines.put)
        except BaseException as error:
            self._error = error
        finally:
            self._lines.put(None)

    def progress(self) -> Iterator[str]:
        """Yield lines of feedback until the call is over."""
        while (line := self._lines.get()) is not None:
            yield line

    def result(self) -> Observation:
        """Return what came of the call."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._observation is not None
        return self._observation
