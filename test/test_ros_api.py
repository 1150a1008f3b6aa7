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
What the code uses of rclpy, launch and launch_ros is in Humble, in Jazzy and in Kilted.

``data/ros_api.json`` tells what each offers; ``scripts/ros_api.py`` makes it from their sources.
Nothing is run: the syntax trees are read, so a call is checked as far as its receiver is known.

- Imports, ``rclpy.x.y`` and ``GoalResponse.X``: each name must be there.
- Calls of what is imported: the keywords and the number of positional arguments must fit. Where a
  constructor takes ``**kwargs``, one of its base classes must take what is left.
- ``self.x()`` and ``super().x()`` in a class with an rclpy base, and ``node.x()`` on anything
  called ``node`` or ``_node``: the method must be there and take this call, unless our own node
  classes define it.
- ``anything.x()`` where x is a method of a class in RECEIVERS: one and the same class must take
  this call in all distributions. A name that our own classes or the standard types in COMMON have
  too may mean theirs: then the rule holds only for a call with keywords that fits in at least one
  distribution.
- Traps: what is easily used by mistake is refused whoever the receiver is.
- The syntax is that of Python 3.10, as far as ast.parse tells.

A finding is forgiven under ``if hasattr(x, 'name')``, under ``if 'name' in ...``, or in a ``try``
whose ``except`` names the very exception: ImportError, AttributeError or TypeError.
"""

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
import json
import logging
from pathlib import Path
import queue
import subprocess
import threading

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Engine, tools, missions and so on know no ROS (test_lint.py holds that).
ROS_FOLDERS = ('edge_llm_ros/cli', 'edge_llm_ros/ros', 'edge_llm_ros/sim', 'launch')
SOURCES = sorted(p for folder in ROS_FOLDERS for p in (ROOT / folder).rglob('*.py'))
OTHERS = sorted(set((ROOT / 'edge_llm_ros').rglob('*.py')) - set(SOURCES))
DISTROS = ('humble', 'jazzy', 'kilted')
PACKAGES = ('rclpy', 'launch', 'launch_ros')
OLDEST_PYTHON = (3, 10)  # Humble's
NODE = ('rclpy.node.Node', 'rclpy.lifecycle.node.LifecycleNodeMixin')
RECEIVERS = (
    'rclpy.action.client.ActionClient', 'rclpy.action.client.ClientGoalHandle',
    'rclpy.action.server.ActionServer', 'rclpy.action.server.ServerGoalHandle',
    'rclpy.client.Client', 'rclpy.clock.Clock', 'rclpy.context.Context',
    'rclpy.executors.Executor', 'rclpy.impl.rcutils_logger.RcutilsLogger',
    'rclpy.parameter.Parameter', 'rclpy.publisher.Publisher', 'rclpy.service.Service',
    'rclpy.subscription.Subscription', 'rclpy.task.Future', 'rclpy.time.Time',
    'rclpy.timer.Timer', *NODE)
COMMON = frozenset(name for kind in (
    bytes, deque, dict, list, logging.Logger, Path, queue.Queue, set, str, subprocess.Popen,
    threading.Condition, threading.Event, threading.Thread, tuple) for name in dir(kind))
TRAPS = {'add_post_set_parameters_callback': 'humble', 'add_pre_set_parameters_callback': 'humble',
         'EventsExecutor': 'humble and jazzy'}
KNOWN_BASES = {'Enum': ('name', 'value'), 'IntEnum': ('name', 'value'),
               'ContextManager': ('__enter__', '__exit__')}
FORGIVEN = {'import': {'ImportError', 'ModuleNotFoundError'}, 'attribute': {'AttributeError'},
            'call': {'TypeError'}, 'with': {'AttributeError', 'TypeError'}}
pytestmark = pytest.mark.lint


@dataclass(frozen=True)
class Call:
    """
    The arguments of a call.

    :param open: whether there may be more, by ``*`` or ``**``
    """

    positional: int
    keywords: tuple
    open: bool

    @classmethod
    def of(cls, node: ast.Call) -> 'Call':
        named = tuple(k.arg for k in node.keywords if k.arg is not None)
        is_open = len(named) < len(node.keywords) or any(
            isinstance(a, ast.Starred) for a in node.args)
        return cls(sum(not isinstance(a, ast.Starred) for a in node.args), named, is_open)

    def through_class(self) -> 'Call':
        """Return the call without self, as in `Node.__init__(self, ...)`."""
        return Call(max(0, self.positional - 1), self.keywords, self.open)

    def unknown(self, parameters: 'list | None') -> tuple:
        """Return what the parameters cannot take, and whether ``**`` might."""
        if parameters is None:
            return (), False
        places = [n for n, p in enumerate(parameters) if p.startswith('*')]
        room = places[0] if places else len(parameters)
        has_rest = any(p.startswith('*') and p.strip('*') and not p.startswith('**')
                       for p in parameters)
        extra = [k for k in self.keywords if k not in parameters]
        if self.positional > room and not has_rest:
            return (f'{self.positional} positional arguments', *extra), False
        return tuple(extra), any(p.startswith('**') for p in parameters)


class Api:
    """What one distribution offers."""

    def __init__(self, data: dict) -> None:
        self.modules: dict = data['modules']
        self.classes: dict = data['classes']
        self.functions: dict = data['functions']
        self._aliases: dict = data['aliases']

    def has_import(self, module: str, name: str) -> bool:
        return name in self.modules.get(module, ()) or f'{module}.{name}' in self.modules

    def place(self, name: str) -> str:
        """Return where a name is defined, as far as that is known."""
        parts = name.split('.')
        for n in range(len(parts), 0, -1):
            target = self._aliases.get('.'.join(parts[:n]))
            if target is not None:
                return self.place('.'.join([target, *parts[n:]]))
        return name

    def missing(self, name: str, loaded: set) -> str:
        """
        Return the part of a dotted name that is not there; empty if all of it is, or may be.

        :param loaded: modules that the file imports
        """
        parts = name.split('.')
        for n in range(1, len(parts)):
            parent, child = self.place('.'.join(parts[:n])), '.'.join(parts[:n + 1])
            if parent in self.modules:
                if parts[n] not in self.modules[parent] and f'{parent}.{parts[n]}' not in loaded:
                    return child
            elif parent in self.classes:
                members, is_open = self.members(parent)
                return '' if is_open or parts[n] in members else child
            else:
                return ''
        return ''

    def members(self, name: str) -> tuple:
        """Return all members of a class, and whether a base may have others."""
        if name not in self.classes:
            known = KNOWN_BASES.get(name.rpartition('.')[2])
            return dict.fromkeys(known or ()), known is None
        found, is_open = dict(self.classes[name]['members']), False
        for base in self.classes[name]['bases']:
            inherited, base_is_open = self.members(base)
            found, is_open = {**inherited, **found}, is_open or base_is_open
        return found, is_open

    def construct(self, name: str, call: Call) -> tuple:
        """Return what a constructor cannot take."""
        known = self.classes.get(name)
        if known is None:
            return ()
        if '__init__' in known['members']:
            left, may_pass_on = call.unknown(known['members']['__init__'])
            if not left or not may_pass_on:
                return left
            call = Call(0, left, call.open)
        left = (*call.keywords, *([f'{call.positional} positional arguments'] *
                                  bool(call.positional)))
        for base in known['bases']:
            rest = self.construct(base, call)
            left = tuple(item for item in left if item in rest)
        return left

    def invoke(self, name: str, call: Call, through_class: bool = False) -> 'tuple | None':
        """Return what a method or function cannot take; None if it is not there."""
        owner, _, last = name.rpartition('.')
        if name in self.classes:
            return self.construct(name, call)
        if name in self.functions:
            left, may_pass_on = call.unknown(self.functions[name])
            return () if may_pass_on else left
        if owner not in self.classes:
            return ()
        members, is_open = self.members(owner)
        if last == '__init__':
            return self.construct(owner, call.through_class() if through_class else call)
        if last not in members:
            return () if is_open else None
        left, may_pass_on = call.unknown(members[last])
        if left and through_class:
            left = call.through_class().unknown(members[last])[0]
        return () if may_pass_on else left

    def describes(self, name: str) -> bool:
        return name in self.classes or name in self.functions


APIS = {distro: Api(data) for distro, data in json.loads(
    (Path(__file__).parent / 'data' / 'ros_api.json').read_text()).items()}


@dataclass(frozen=True)
class Finding:
    """
    Something that is not the same everywhere.

    :param kind: what forgives it, a key of FORGIVEN
    :param names: a test for one of these forgives it too
    """

    node: ast.AST
    kind: str
    names: tuple
    text: str


def _dotted(node: ast.AST) -> str:
    """Return `a.b.c` of an expression, or nothing."""
    if isinstance(node, ast.Attribute):
        parent = _dotted(node.value)
        return f'{parent}.{node.attr}' if parent else ''
    return node.id if isinstance(node, ast.Name) else ''


def _is_ours(name: str) -> bool:
    return name.split('.')[0] in PACKAGES


def _everywhere(texts: dict) -> str:
    """Return what distributions say, each text once."""
    return '; '.join(
        f'{", ".join(d for d in texts if texts[d] == text)}: {text}'
        for text in dict.fromkeys(texts.values()) if text)


class Checker:
    """
    Checks one file.

    :param own: names of methods that our classes have
    :param own_node: names that our node classes have
    """

    def __init__(self, text: str, own: frozenset, own_node: frozenset) -> None:
        self._tree = ast.parse(text, feature_version=OLDEST_PYTHON)
        self._own, self._own_node = own, own_node
        self._parents = {child: node for node in ast.walk(self._tree)
                         for child in ast.iter_child_nodes(node)}
        self._names: dict = {}
        self._loaded: set = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                for alias in filter(lambda a: _is_ours(a.name), node.names):
                    parts = alias.name.split('.')
                    self._names[alias.asname or parts[0]] = (
                        alias.name if alias.asname else parts[0])
                    self._load(alias.name)
            elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ''):
                self._load(node.module)
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f'{node.module}.{alias.name}'

    def _load(self, module: str) -> None:
        parts = module.split('.')
        self._loaded |= {'.'.join(parts[:n]) for n in range(1, len(parts) + 1)}

    def findings(self) -> list:
        """Return a line for each finding that nothing forgives."""
        found = [f for node in ast.walk(self._tree) for f in self._of(node)]
        kept = [f for f in found if not self._is_forgiven(f)]
        return [f'{f.node.lineno}: {f.text}' for f in sorted(kept, key=lambda f: f.node.lineno)]

    def _of(self, node: ast.AST) -> Iterator:
        yield from self._traps(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from self._imports(node)
        elif isinstance(node, ast.Attribute) and not isinstance(
                self._parents[node], ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)

    # Names

    def _imports(self, node: ast.AST) -> Iterator:
        for alias in node.names:
            module = alias.name if isinstance(node, ast.Import) else node.module or ''
            if not _is_ours(module):
                continue
            is_there = {
                d: module in api.modules and (
                    isinstance(node, ast.Import) or api.has_import(module, alias.name))
                for d, api in APIS.items()}
            texts = {d: '' if there else 'not there' for d, there in is_there.items()}
            if not any(is_there.values()):
                texts = dict.fromkeys(DISTROS, 'not in ros_api.json; make that again')
            if not all(is_there.values()):
                name = module if isinstance(node, ast.Import) else f'{module}.{alias.name}'
                yield Finding(node, 'import', (alias.name,),
                              f'import {name}: {_everywhere(texts)}')

    def _imported(self, node: ast.AST) -> str:
        """Return the full name of what an expression takes from an imported module or class."""
        first, _, rest = _dotted(node).partition('.')
        start = self._names.get(first, '')
        return f'{start}.{rest}' if start and rest else start

    def _attribute(self, node: ast.Attribute) -> Iterator:
        name = self._imported(node)
        start = self._names.get(_dotted(node).split('.')[0], '')
        owner, _, last = start.rpartition('.')
        if not name or (owner and not all(
                api.has_import(owner, last) for api in APIS.values())):
            return  # nothing of ROS, or its import is a finding already
        texts = {d: api.missing(name, self._loaded) for d, api in APIS.items()}
        if any(texts.values()):
            lost = tuple(t.rpartition('.')[2] for t in texts.values() if t)
            yield Finding(node, 'attribute', lost, f'{name}: ' + _everywhere(
                {d: t and f'no {t}' for d, t in texts.items()}))

    # Calls

    def _call(self, node: ast.Call) -> Iterator:
        call = Call.of(node)
        name = self._imported(node.func)
        if name:
            yield from self._call_of_import(node, name, call)
        elif isinstance(node.func, ast.Attribute):
            yield from self._call_of_method(node, node.func, call)

    def _call_of_import(self, node: ast.Call, name: str, call: Call) -> Iterator:
        places = {d: api.place(name) for d, api in APIS.items()}
        if name.startswith('launch') and not any(
                APIS[d].describes(p) for d, p in places.items()):
            yield Finding(node, 'call', (), f'{name}(): its parameters are not in ros_api.json; '
                          'make that again')
        results = {d: APIS[d].invoke(p, call, through_class=True) for d, p in places.items()}
        yield from self._unfit(node, name, results)

    def _call_of_method(self, node: ast.Call, function: ast.Attribute, call: Call) -> Iterator:
        receiver, method = _dotted(function.value), function.attr
        bases, defined = self._enclosing(node)
        is_super = isinstance(function.value, ast.Call) and _dotted(
            function.value.func) == 'super'
        if bases and (is_super or receiver == 'self' and method not in defined):
            yield from self._call_of_known(node, method, call, bases, self._own_node)
        elif receiver.split('.')[-1] in ('node', '_node'):
            yield from self._call_of_known(
                node, method, call, dict.fromkeys(DISTROS, NODE), self._own_node)
        elif not is_super and receiver != 'self':
            yield from self._call_of_any(node, method, call)

    def _enclosing(self, node: ast.AST) -> tuple:
        """Return the ROS bases of the class around, by distribution, and what it defines."""
        while node in self._parents and not isinstance(node, ast.ClassDef):
            node = self._parents[node]
        if not isinstance(node, ast.ClassDef):
            return {}, set()
        names = [name for name in map(self._imported, node.bases) if name]
        bases = {d: tuple(api.place(n) for n in names) for d, api in APIS.items()}
        return bases if names else {}, _defined(node)

    def _call_of_known(self, node: ast.Call, method: str, call: Call, bases: dict,
                       own: frozenset) -> Iterator:
        """Check a call of a method of one of these classes."""
        results = {}
        for distro, api in APIS.items():
            if any(base not in api.classes for base in bases[distro]):
                return
            taken = [api.invoke(f'{base}.{method}', call) for base in bases[distro]]
            there = [t for t in taken if t is not None]
            # With several bases, any may be meant.
            results[distro] = min(there, key=len) if there else None
        if not (method in own and all(r is None for r in results.values())):
            yield from self._unfit(node, method, results)

    def _call_of_any(self, node: ast.Call, method: str, call: Call) -> Iterator:
        """Check a call of a method whose receiver is not known."""
        table = {name: {d: api.invoke(f'{name}.{method}', call) for d, api in APIS.items()}
                 for name in RECEIVERS
                 if any(method in api.members(name)[0] for api in APIS.values())}
        fits = {n: sum(r == () for r in row.values()) for n, row in table.items()}
        if not table or len(DISTROS) in fits.values():
            return
        if method in self._own | COMMON and not (call.keywords and any(fits.values())):
            return
        best = max(table, key=lambda name: fits[name])
        yield from self._unfit(node, f'{best.rpartition(".")[2]}.{method}', table[best])

    def _unfit(self, node: ast.Call, name: str, results: dict) -> Iterator:
        if all(r == () for r in results.values()):
            return
        names = {name.rpartition('.')[2], *(n for r in results.values() for n in r or ())}
        kind = 'attribute' if any(r is None for r in results.values()) else 'call'
        yield Finding(node, kind, tuple(names), f'{name}(): ' + _everywhere({
            d: 'not there' if r is None else ' and '.join(f'does not take {n}' for n in r)
            for d, r in results.items()}))

    # Traps

    def _traps(self, node: ast.AST) -> Iterator:
        if isinstance(node, ast.Call):
            last = _dotted(node.func).rpartition('.')[2] or getattr(node.func, 'attr', '')
            keywords = Call.of(node).keywords
            if self._imported(node.func) == 'rclpy.init' and not isinstance(
                    self._parents[node], ast.Expr):
                yield Finding(node, 'with', ('__enter__', 'InitContextManager'),
                              'trap: rclpy.init() returns None in humble, not a context manager')
            if last == 'LifecycleNode' and 'autostart' in keywords:
                yield Finding(node, 'call', ('autostart',),
                              'trap: LifecycleNode(autostart=) is not in humble')
            if last == 'call' and isinstance(node.func, ast.Attribute) and (
                    'timeout_sec' in keywords):
                yield Finding(node, 'call', ('timeout_sec',),
                              'trap: Client.call(timeout_sec=) is not in humble')
        kind = 'attribute'
        used = {getattr(node, 'attr', ''), getattr(node, 'id', '')}
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            kind, used = 'import', {part for a in node.names for part in a.name.split('.')}
        for name in sorted(used & set(TRAPS)):
            yield Finding(node, kind, (name,), f'trap: {name} is not in {TRAPS[name]}')

    # Guards

    def _is_forgiven(self, finding: Finding) -> bool:
        node, in_function = finding.node, False
        while node in self._parents:
            child, node = node, self._parents[node]
            if isinstance(node, ast.Try) and child in node.body and not in_function:
                caught = {_dotted(name) for handler in node.handlers if handler.type is not None
                          for name in getattr(handler.type, 'elts', [handler.type])}
                if caught & FORGIVEN[finding.kind]:
                    return True
            elif isinstance(node, (ast.If, ast.IfExp)) and child is not node.test:
                body = node.body if isinstance(node.body, list) else [node.body]
                negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
                if (child in body) != negated and _asks_for(node.test, finding.names):
                    return True
            elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
                before = node.values[:node.values.index(child)]
                if any(_asks_for(value, finding.names) for value in before):
                    return True
            # What a try only defines runs later, outside of it.
            in_function |= isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        return False


def _asks_for(test: ast.AST, names: tuple) -> bool:
    """Say whether a test asks if one of the names is there."""
    for node in ast.walk(test):
        asked = None
        if isinstance(node, ast.Call) and _dotted(node.func) == 'hasattr' and len(node.args) == 2:
            asked = node.args[1]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            asked = node.left
        if isinstance(asked, ast.Constant) and asked.value in names:
            return True
    return False


def _defined(node: ast.ClassDef) -> set:
    """Return the names of methods and attributes that a class itself has."""
    found = {n.name for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and (
                _dotted(inner.value) == 'self'):
            found.add(inner.attr)
    return found | {t.id for n in node.body if isinstance(n, (ast.Assign, ast.AnnAssign))
                    for t in ast.walk(n) if isinstance(t, ast.Name)
                    and isinstance(t.ctx, ast.Store)}


def _own_names() -> tuple:
    """Return the methods of our classes, and all names of our node classes."""
    classes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text()))
               if isinstance(node, ast.ClassDef)]
    methods = {n.name for c in classes for n in c.body
               if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
               and 'property' not in map(_dotted, n.decorator_list)}
    nodes = [c for c in classes if {'Node', 'LifecycleNodeMixin', 'LifecycleNode'} & {
        _dotted(base) for base in c.bases}]
    return frozenset(methods), frozenset().union(*map(_defined, nodes))


OWN, OWN_NODE = _own_names()


def _findings(text: str) -> list:
    return Checker(text, OWN, OWN_NODE).findings()


@pytest.mark.parametrize('path', SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_works_with_every_distribution(path: Path) -> None:
    name = path.relative_to(ROOT)
    assert not [f'{name}:{line}' for line in _findings(path.read_text())]


def test_is_written_in_the_oldest_python() -> None:
    for path in OTHERS:
        ast.parse(path.read_text(), str(path), feature_version=OLDEST_PYTHON)


@pytest.mark.parametrize('distro', DISTROS)
def test_data_hold_what_the_rules_need(distro: str) -> None:
    api = APIS[distro]
    assert set(RECEIVERS) <= set(api.classes)
    for name in RECEIVERS:
        for base in api.classes[name]['bases']:
            assert base in api.classes or not _is_ours(base), f'{name}: base {base}'
    assert len(api.members('rclpy.node.Node')[0]) > 60
    # Signatures that we know.
    assert api.classes['rclpy.client.Client']['members']['call_async'] == ['request']
    assert {'args', 'context', 'domain_id'} <= set(api.functions['rclpy.init'])


IMPORTS = """
import rclpy
from rclpy.action import ActionClient, ActionServer, GoalResponse
from rclpy.lifecycle import LifecycleNodeMixin
from rclpy.node import Node
from rclpy.qos import QoSProfile
from launch.actions import DeclareLaunchArgument
from launch_ros.actions import LifecycleNode
"""
REFUSED = {
    # Traps
    'with rclpy.init(args=None):\n    pass': 'trap: rclpy.init() returns None',
    'import contextlib\nwith contextlib.ExitStack() as s:\n    s.enter_context(rclpy.init())':
        'trap: rclpy.init() returns None',
    'x.y.add_post_set_parameters_callback(f)': 'trap: add_post_set_parameters_callback',
    'f = node.add_pre_set_parameters_callback': 'trap: add_pre_set_parameters_callback',
    'from rclpy.experimental import EventsExecutor': 'trap: EventsExecutor',
    'import rclpy.experimental\nx = rclpy.experimental.EventsExecutor()': 'trap: EventsExecutor',
    'LifecycleNode(name="n", namespace="", autostart=True)': 'trap: LifecycleNode(autostart=)',
    'client.call(request, timeout_sec=1.0)': 'trap: Client.call(timeout_sec=)',
    # Imports and attributes
    'from rclpy.event_handler import PublisherEventCallbacks': 'humble: not there',
    'from rclpy.qos import Missing': 'not in ros_api.json',
    'import rclpy.event_handler': 'humble: not there',
    'from launch.actions import Missing': 'not in ros_api.json',
    'rclpy.missing': 'humble, jazzy, kilted: no rclpy.missing',
    'rclpy.executors.Executor': 'no rclpy.executors',
    'rclpy.InitContextManager': 'humble',
    'GoalResponse.MAYBE': 'no rclpy.action.GoalResponse.MAYBE',
    # Keywords and positional arguments
    'rclpy.init(arguments=None)': 'does not take arguments',
    'rclpy.init([])': 'does not take 1 positional arguments',
    'rclpy.spin_until_future_complete(node, future, timeout=1.0)': 'does not take timeout',
    'ActionServer(node, T, "a", f, group=g)': 'does not take group',
    'ActionClient(node, T, "a", callback=g)': 'does not take callback',
    'QoSProfile(10)': 'humble, jazzy: does not take 1 positional arguments',
    'QoSProfile(depth=1, durable=True)': 'humble, jazzy, kilted: does not take durable',
    'LifecycleNode(name="n", namespace="", outputs="log")': 'does not take outputs',
    'from launch.actions import TimerAction\nTimerAction(period=1.0, actions=[])':
        'its parameters are not in ros_api.json',
    # Methods of nodes
    'node.create_client(T, "s", group=g)': 'does not take group',
    'self._node.create_subscription(T, "t", f, 10, content_filter_options=o)': 'humble, jazzy',
    'node.no_such_method()': 'not there',
    'class N(Node):\n    def f(self):\n        self.create_timer(1.0, f, autostart=False)':
        'humble: does not take autostart',
    'class N(Node):\n    def f(self):\n        self.no_such_method()': 'not there',
    'class N(Node):\n    def __init__(self):\n        super().__init__("n", names="x")':
        'does not take names',
    'class N(LifecycleNodeMixin, Node):\n    def __init__(self):\n'
    '        Node.__init__(self, "n", service=True)': 'does not take service',
    # Methods of anything
    'client.call_async(request, timeout=1.0)': 'Client.call_async(): humble, jazzy, kilted',
    'client.send_goal_async(goal, feedback=f)': 'does not take feedback',
    'handle.succeed(response=r)': 'ServerGoalHandle.succeed(): humble',
    'executor.spin_until_future_complete(future, timeout=1.0)': 'does not take timeout',
    'client.wait_for_service(1.0, 2.0)': 'does not take 2 positional arguments',
    'publisher.publish(message, latched=True)': 'Publisher.publish(): humble, jazzy, kilted',
    # Guards that are none
    'try:\n    x.add_post_set_parameters_callback(f)\nexcept ValueError:\n    pass': 'trap',
    'try:\n    x.add_post_set_parameters_callback(f)\nexcept Exception:\n    pass': 'trap',
    'try:\n    def f():\n        x.call(r, timeout_sec=1.0)\nexcept TypeError:\n    pass': 'trap',
    'if hasattr(x, "other"):\n    x.add_post_set_parameters_callback(f)': 'trap',
    'if hasattr(x, "add_post_set_parameters_callback"):\n    pass\n'
    'else:\n    x.add_post_set_parameters_callback(f)': 'trap',
}
ACCEPTED = (
    'rclpy.init(args=None, domain_id=3)', 'rclpy.utilities.remove_ros_args([])',
    'import rclpy.executors\nrclpy.executors.Executor', 'GoalResponse.ACCEPT',
    'GoalResponse.ACCEPT.name', 'QoSProfile(depth=1)', 'QoSProfile(**options)',
    'LifecycleNode(name="n", namespace="", package="p", output="log", condition=c)',
    'DeclareLaunchArgument("n", default_value="", description="d", choices=c, condition=c)',
    'node.create_client(T, "s", callback_group=g)',
    'class N(Node):\n    def log(self): ...\n    def f(self):\n        self.log()',
    'client.call(request)', 'client.send_goal_async(goal, feedback_callback=f, goal_uuid=u)',
    'thread.join(timeout=1.0)', 'process.wait(timeout=1.0)', 'text.format(node=1)',
    'unrelated.frobnicate(speed=1)',
    'if hasattr(x, "add_post_set_parameters_callback"):\n'
    '    x.add_post_set_parameters_callback(f)',
    'if not hasattr(x, "add_post_set_parameters_callback"):\n    pass\n'
    'else:\n    x.add_post_set_parameters_callback(f)',
    'hasattr(x, "add_pre_set_parameters_callback") and x.add_pre_set_parameters_callback(f)',
    'try:\n    from rclpy.experimental import EventsExecutor\nexcept ImportError:\n    pass',
    'try:\n    client.call(r, timeout_sec=1.0)\nexcept (TypeError, ValueError):\n    pass',
    'if "timeout_sec" in parameters:\n    client.call(r, timeout_sec=1.0)',
    'try:\n    with rclpy.init():\n        pass\nexcept AttributeError:\n    pass',
)


@pytest.mark.parametrize('text', REFUSED)
def test_refuses(text: str) -> None:
    found = _findings(IMPORTS + text)
    assert any(REFUSED[text] in line for line in found), found


@pytest.mark.parametrize('text', ACCEPTED)
def test_accepts(text: str) -> None:
    assert _findings(IMPORTS + text) == []


def test_refuses_newer_syntax() -> None:
    with pytest.raises(SyntaxError):
        _findings('try:\n    pass\nexcept* ValueError:\n    pass')
