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

"""What is on the ROS graph, beside what tool files need there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from edge_llm_ros.ros.qos import COMMAND, LATCHED, LATEST
from edge_llm_ros.tools.uses import Use
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

_FOR_EVER = 1 << 62  # nanoseconds
ServersOf = Callable[[str, str], Iterable[tuple[str, list[str]]]]


class Graph:
    """
    Compares names of tool files with the graph as a node sees it now.

    :param node: the one that looks, which does not count as a peer
    """

    def __init__(self, node: Any) -> None:
        self._node = node

    def why_not(self, use: Use) -> str:
        """Return in words why a use would fail now; empty if a peer is there that fits."""
        if use.how in ('publish', 'subscribe'):
            return self._topic(use)
        name = self._node.resolve_service_name(use.name)
        if use.how == 'call':
            return _of_type(use, 'action server', self._servers(
                name, lambda n, ns: get_action_server_names_and_types_by_node(self._node, n, ns)))
        return _of_type(use, 'service', self._servers(
            name, self._node.get_service_names_and_types_by_node))

    def _servers(self, name: str, servers_of: ServersOf) -> list[str]:
        """Return the types that a name is served as; clients, which the graph lists too, not."""
        types: list[str] = []
        for node, namespace in self._node.get_node_names_and_namespaces():
            try:
                types += [t for n, found in servers_of(node, namespace) if n == name
                          for t in found]
            except Exception:
                # The node went away between the two looks.
                continue
        return types

    def _topic(self, use: Use) -> str:
        name = self._node.resolve_topic_name(use.name)
        publish = use.how == 'publish'
        find = (self._node.get_subscriptions_info_by_topic if publish
                else self._node.get_publishers_info_by_topic)
        peers = [peer for peer in find(name) if peer.node_name != self._node.get_name()]
        missing = _of_type(use, 'subscriber' if publish else 'publisher',
                           [peer.topic_type for peer in peers])
        if missing:
            return missing
        ours = LATCHED if use.latched else (COMMAND if publish else LATEST)
        reasons = []
        for peer in peers:
            pair = (ours, peer.qos_profile) if publish else (peer.qos_profile, ours)
            reason = _misfit(*pair)
            if reason:
                reasons.append(f'the QoS of {peer.node_name} does not fit: {reason}')
        return '; '.join(reasons) if len(reasons) == len(peers) else ''


def _misfit(publisher: QoSProfile, subscriber: QoSProfile) -> str:
    """
    Return in words why a subscriber would get nothing of a publisher; empty if it would.

    Not rclpy's qos_check_compatible(): it takes a deadline that was left out for one that is not
    met by the infinite one that DDS makes of it.
    """
    if (publisher.reliability == ReliabilityPolicy.BEST_EFFORT
            and subscriber.reliability == ReliabilityPolicy.RELIABLE):
        return 'the publisher is best effort, and the subscriber wants reliable'
    if (publisher.durability != DurabilityPolicy.TRANSIENT_LOCAL
            and subscriber.durability == DurabilityPolicy.TRANSIENT_LOCAL):
        return ('the publisher keeps no message for late subscribers (latched), and the '
                'subscriber wants that')
    if 0 < subscriber.deadline.nanoseconds < _FOR_EVER:
        return f'the subscriber wants a message every {subscriber.deadline.nanoseconds / 1e9:g} s'
    return ''


def _of_type(use: Use, what: str, types: list[str]) -> str:
    """Say that no peer is there, or only such of another type."""
    if not types:
        return f'there is no {what} {use.name!r} now'
    if use.type not in types:
        return f'{use.name!r} is of type {", ".join(sorted(set(types)))}, not {use.type}'
    return ''
