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

"""What a planner that died has left going on is stopped by the one that comes after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import time
from typing import Any

from action_msgs.srv import CancelGoal
from edge_llm_ros.ros.goal_journal import GoalJournal, Started
from edge_llm_ros.ros.toolset import RosToolset
from unique_identifier_msgs.msg import UUID

_SECONDS = 5.0  # for servers and listeners to be found and to answer
_TRIES = 3  # configures; after them, a server that never came is given up
_AGAIN_SECONDS = 1.0  # an answer can be lost where the server has not discovered us yet
_SLICE = 0.02


class _Cancel:
    """The cancel of one goal, by its id."""

    def __init__(self, node: Any, group: Any, started: Started) -> None:
        self.started = started
        self._node = node
        self._client = node.create_client(
            CancelGoal, f'{started.target}/_action/cancel_goal', callback_group=group)
        self._answer: Any = None
        self._again = 0.0

    def answered(self) -> bool:
        """Send the cancel once the server is there; say whether it has answered."""
        if self._answer is not None and self._answer.done():
            return True
        if time.monotonic() >= self._again and self._client.service_is_ready():
            self._again = time.monotonic() + _AGAIN_SECONDS
            if self._answer is not None:
                self._client.remove_pending_request(self._answer)
            request = CancelGoal.Request()
            request.goal_info.goal_id = UUID(uuid=list(bytes.fromhex(self.started.goal_id)))
            self._answer = self._client.call_async(request)
        return False

    def words(self) -> str:
        """Return what came of it."""
        target = self.started.target
        if self._answer is None:
            return f'there is no server of {target}; its goal may go on'
        if not self._answer.done():
            return f'{target} does not answer the cancel; its goal may go on'
        response = self._answer.result()
        if response.goals_canceling:
            return f'{target} stops the goal'
        ended = (CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID,
                 CancelGoal.Response.ERROR_GOAL_TERMINATED)
        return f'{target} has no such goal any more' if response.return_code in ended else (
            f'{target} refuses to cancel the goal, which may go on')

    def destroy(self) -> None:
        """Give the client back."""
        self._node.destroy_client(self._client)


def stop_leftovers(node: Any, group: Any, journal: GoalJournal, toolset: RosToolset,
                   keep_on: Callable[[], bool]) -> None:
    """
    Cancel the goals in the journal and publish the stop messages, if the journal has anything.

    Called from a thread while others spin. What came of it is logged.

    :param keep_on: ends the wait for servers when it is false
    """
    logger = node.get_logger()
    left = journal.entries()
    if not left and not journal.damage:
        return
    logger.warning(journal.damage or (
        f'a planner of this name died and left {len(left)} calls going on; stopping them'))
    cancels = [_Cancel(node, group, s) for s in left if s.kind == 'action']
    publishers = toolset.stopping_publishers()
    deadline = time.monotonic() + _SECONDS
    try:
        while True:
            for publisher in [p for p in publishers if p.listeners()]:
                logger.warning(publisher.stop())
                publishers.remove(publisher)
            # All of them at once: each sends its cancel when it is asked.
            answered = all([c.answered() for c in cancels])
            if answered and not publishers or time.monotonic() >= deadline or not keep_on():
                break
            time.sleep(_SLICE)
        for cancel in cancels:
            logger.warning(cancel.words())
        for publisher in publishers:
            logger.warning(f'nobody listens on {publisher.name}; its stop message was not sent')
        for started in left:
            mine = [c for c in cancels if c.started is started]
            heard = started.kind == 'action' or started.target not in {
                p.name for p in publishers}
            _settle(journal, started, heard and all(c.answered() for c in mine))
    finally:
        for cancel in cancels:
            cancel.destroy()


def _settle(journal: GoalJournal, started: Started, answered: bool) -> None:
    """Forget what was stopped, and what could not be stopped in several tries."""
    if answered or started.tries + 1 >= _TRIES:
        journal.remove(started)
    else:
        journal.replace(started, replace(started, tries=started.tries + 1))
