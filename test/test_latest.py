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

"""What is read and asked without an executor: latest messages and responses."""

from collections.abc import Iterator
import json
import logging
import threading
import time
from typing import Any

from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.result import Outcome
from edge_llm_ros.flow.tool import Status
from edge_llm_ros.ros.latest import Latest
from edge_llm_ros.ros.qos import COMMAND, LATCHED
from edge_llm_ros.ros.service_client import ServiceClient
from edge_llm_ros.ros.sources import ServiceSource
from edge_llm_ros.ros.streams import Streams
from edge_llm_ros.ros.wiring import Wiring
from edge_llm_ros.tools.readings import Reading
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger
from toolset_bench import Calling, ToolsetBench, until

WORD = {'description': 'd', 'effect': 'read', 'result': ['data'], 'timeout': 3.0,
        'read': {'topic': 'word', 'type': 'std_msgs/msg/String', 'max_age': 1.0}}


@pytest.fixture
def streams() -> Iterator[Streams]:
    streams = Streams()
    yield streams
    streams.close()


@pytest.fixture
def peers(domain: int) -> Iterator[ToolsetBench]:
    """Return a bench, whose node publishes and serves."""
    bench = ToolsetBench('peers')
    yield bench
    bench.stop()


def _latest(node: Node, streams: Streams, max_age: float = 0.5, latched: bool = False) -> Latest:
    return Latest(node, streams, String, 'std_msgs/msg/String', 'word', latched, max_age)


def _told(latest: Latest, publisher: Any, *words: str) -> None:
    """Publish words, once they can arrive, and wait for the last."""
    until(lambda: publisher.get_subscription_count() > 0)
    for word in words:
        publisher.publish(String(data=word))
    until(lambda: (latest.get() or (0.0, String()))[1].data == words[-1])


def test_the_last_message_is_taken_and_no_executor_takes_any(node: Node, streams: Streams) -> None:
    publisher = node.create_publisher(String, 'word', COMMAND)
    latest = _latest(node, streams)
    assert latest.get() is None and latest.why_silent() == 'its publisher is silent'
    _told(latest, publisher, *'abcdefgh')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    for word in ('one', 'two'):
        publisher.publish(String(data=word))
        for _ in range(5):
            executor.spin_once(timeout_sec=0.02)
    assert latest.get()[1].data == 'two' and latest.get()[1].data == 'two'
    latest.destroy()
    assert not list(node.subscriptions) and not streams._looks
    executor.shutdown()


def test_a_message_that_nobody_asked_for_grows_old(node: Node, streams: Streams) -> None:
    publisher = node.create_publisher(String, 'word', COMMAND)
    latest = _latest(node, streams)
    _told(latest, publisher, 'first')
    time.sleep(1.0)
    published = time.monotonic()
    publisher.publish(String(data='second'))
    time.sleep(1.0)
    since, message = latest.get()
    assert message.data == 'second'
    # Neither from when it was asked for, nor from when the first one was.
    assert published - 0.5 < since < published + 0.5


def test_without_looks_in_between_a_message_counts_from_the_last(node: Node) -> None:
    streams = Streams()
    streams.close()  # as if the thread got no turn
    publisher = node.create_publisher(String, 'word', COMMAND)
    latest = _latest(node, streams)
    _told(latest, publisher, 'first')
    looked = time.monotonic()
    time.sleep(0.5)
    publisher.publish(String(data='second'))
    time.sleep(0.1)
    since, message = latest.get()
    assert message.data == 'second' and since <= looked


def test_a_reading_is_told_while_it_is_fresh_and_refused_when_it_is_stale(
        peers: ToolsetBench) -> None:
    toolset = peers.toolset({'word': WORD, 'soon': {**WORD, 'timeout': 0.3}})
    publisher = peers.node.create_publisher(String, 'word', COMMAND)
    waiting = Calling(toolset, 'word')
    until(lambda: publisher.get_subscription_count() == 2)
    publisher.publish(String(data='a'))  # by a publisher that came after the read began
    assert json.loads(waiting.end(2.0).text) == {'data': 'a'}
    assert Calling(toolset, 'soon').end(1.0).status is Status.SUCCEEDED
    time.sleep(1.2)
    end = Calling(toolset, 'soon').end(1.0)
    assert end.status is Status.FAILED and "the last message on 'word' is " in end.error
    waiting = Calling(toolset, 'word')
    time.sleep(0.1)
    publisher.publish(String(data='b'))
    asked = time.monotonic()
    assert json.loads(waiting.end(2.0).text) == {'data': 'b'} and time.monotonic() - asked < 0.5


def test_a_wait_for_a_message_ends_with_its_goal_and_outlives_its_subscription(
        peers: ToolsetBench) -> None:
    toolset = peers.toolset({'word': {**WORD, 'timeout': 1.0}})
    canceled, left = Calling(toolset, 'word'), Calling(toolset, 'word')
    time.sleep(0.1)
    canceled.goal.cancel(Outcome.CANCELED)
    assert canceled.end(0.5).status is Status.CANCELED
    peers.drop()
    end = left.end(3.0)
    assert end.status is Status.FAILED and "no message on 'word'" in end.error


def test_a_subscription_that_is_changed_while_it_is_looked_at(node: Node, streams: Streams
                                                              ) -> None:
    """Publishers that keep their message come and go; looks go on all the time."""
    latest = _latest(node, streams, max_age=0.01)
    for i in range(20):
        publisher = node.create_publisher(String, 'word', LATCHED if i % 2 else COMMAND)
        latest._adapted = 0.0
        latest.adapt()
        _told(latest, publisher, f'word {i}')
        node.destroy_publisher(publisher)
    latest.destroy()


def test_a_latched_message_is_there_however_late_it_is_asked_for(node: Node, streams: Streams
                                                                 ) -> None:
    node.create_publisher(String, 'word', LATCHED).publish(String(data='kept'))
    latest = _latest(node, streams, latched=True)
    assert not streams._looks, 'its age does not matter'
    until(lambda: latest.get() is not None)
    assert latest.get()[1].data == 'kept'


def test_a_look_that_fails_is_told_once_and_hinders_no_other(
        streams: Streams, caplog: pytest.LogCaptureFixture) -> None:
    looks: list[str] = []

    def broken() -> None:
        looks.append('broken')
        raise ValueError('no')

    with caplog.at_level(logging.ERROR, 'edge_llm_ros'):
        streams.add(broken, 0.1)
        streams.add(lambda: looks.append('good'), 2.0)
        until(lambda: looks.count('broken') > 3 and looks.count('good') > 3)
    assert len(caplog.records) == 1
    streams.close()
    count = len(looks)
    time.sleep(0.2)
    assert len(looks) == count


# Services

class Server:
    """Answers with a count; holds its answers back while it is asked to."""

    def __init__(self, bench: ToolsetBench) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self.count = 0
        bench.node.create_service(
            Trigger, 'count', self._answer, callback_group=ReentrantCallbackGroup())

    def _answer(self, request: Any, response: Any) -> Any:
        self.count += 1
        response.message = str(self.count)
        self.go_on.wait(10.0)
        return response


def test_a_late_response_is_nobodys(peers: ToolsetBench, node: Node) -> None:
    server = Server(peers)
    client = ServiceClient(node, Trigger, 'count')
    until(client.ready)
    assert client.wait_for(client.send(Trigger.Request()), 5.0, Cancellation())
    server.go_on.clear()
    late = client.send(Trigger.Request())
    start = time.monotonic()
    assert not client.wait_for(late, 0.3, Cancellation()) and time.monotonic() - start < 0.6
    server.go_on.set()
    for count in ('3', '4', '5'):
        future = client.send(Trigger.Request())
        assert client.wait_for(future, 5.0, Cancellation()) and future.result().message == count
    assert not late.done() and not client._client._pending_requests
    client.destroy()


def test_a_wait_for_a_response_ends_with_its_goal(peers: ToolsetBench, node: Node) -> None:
    server, goal = Server(peers), Cancellation()
    server.go_on.clear()
    client = ServiceClient(node, Trigger, 'count')
    until(client.ready)
    future = client.send(Trigger.Request())
    threading.Timer(0.2, goal.cancel, [Outcome.CANCELED]).start()
    start = time.monotonic()
    assert not client.wait_for(future, 5.0, goal) and time.monotonic() - start < 1.0
    assert not client._client._pending_requests
    server.go_on.set()


def test_many_wait_at_one_client(peers: ToolsetBench, node: Node) -> None:
    Server(peers)
    client = ServiceClient(node, Trigger, 'count')
    until(client.ready)
    got: list[int] = []

    def ask() -> None:
        for _ in range(20):
            future = client.send(Trigger.Request())
            assert client.wait_for(future, 10.0, Cancellation())
            got.append(int(future.result().message))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert sorted(got) == list(range(1, 81))


def test_a_service_that_comes_late_is_read(peers: ToolsetBench, node: Node, streams: Streams
                                           ) -> None:
    wiring = Wiring(node, None, streams, None, None)
    source = ServiceSource(wiring, Reading(
        service='count', type='std_srvs/srv/Trigger', field='message', timeout=5.0), 'w')
    source.ask()
    threading.Timer(0.3, Server, [peers]).start()
    assert source.answer(Cancellation()) == '1'
    source.destroy()
