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
Make test/data/ros_api.json: what rclpy, launch and launch_ros offer in each distribution.

Sources are read, never imported: from branches of git clones and folders of installed packages::

    python3 scripts/ros_api.py --git humble clones/rclpy humble --git humble clones/launch humble
        ... --folder kilted .venv/lib/python3.11/site-packages/rclpy 9.1.2

Per distribution the file holds:

- ``origin``: commit or version of each package;
- ``modules``: the public names of each module, those under ``if TYPE_CHECKING`` excepted, which
  are not there at run time; for a package, also the submodules that its import loads;
- ``aliases``: where a class, function or module is defined that a module only passes on;
- ``classes``: bases and members; a member is a list of parameters, or null if it is no method;
- ``functions``: parameters.

Parameters are names as in a ``def`` without ``self``: keyword-only ones come after ``*`` or
``*args``. Of rclpy's native module only the names are told, by its stub file or its C++ source.

All of rclpy is taken. Of the others, what the files in ``--code`` import, and the bases of that.
"""

import argparse
import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
import json
from pathlib import Path
import re
import subprocess

ROOT = Path(__file__).resolve().parent.parent
WHOLE = 'rclpy'
PACKAGES = (WHOLE, 'launch', 'launch_ros')
NATIVE = '_rclpy_pybind11'
SPECIAL = ('__init__', '__call__', '__enter__', '__exit__')
NEUTRAL_BASES = ('object', 'Generic', 'Protocol', 'ABC')


@dataclass
class Module:
    """
    A module and what its names are bound to.

    :param loads: modules that importing this one imports, packages above it excepted
    :param stars: modules of which all public names are imported
    :param names: a definition, a dotted name for what comes from elsewhere, or None
    """

    name: str
    is_package: bool = False
    loads: set = field(default_factory=set)
    stars: list = field(default_factory=list)
    names: dict = field(default_factory=dict)


class GitTree:
    """The files of the package in a branch of a clone."""

    def __init__(self, clone: str, ref: str) -> None:
        self._clone, self._ref = clone, ref
        paths = self._git('ls-tree', '-r', '--name-only', ref).splitlines()
        self.package = next(p for p in PACKAGES if f'{p}/{p}/__init__.py' in paths)
        self._root = f'{self.package}/'
        self.paths = [p.removeprefix(self._root) for p in paths if p.startswith(self._root)]

    def _git(self, *command: str) -> str:
        return subprocess.run(['git', '-C', self._clone, *command],
                              check=True,
                              capture_output=True,
                              text=True).stdout

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return self._git('show', f'{self._ref}:{self._root}{path}')

    def origin(self, distro: str) -> str:
        """Return where this comes from."""
        version = re.search(r'<version>(.*?)</version>', self.read('package.xml'))[1]
        commit, date = self._git('log', '-1', '--format=%H %cs', self._ref).split()
        stands_in = '' if self._ref == distro else f', which stands in for {distro}'
        return f'{version}, git {commit} of {date}, branch {self._ref}{stands_in}'


class FolderTree:
    """The files of an installed package."""

    def __init__(self, folder: str, version: str) -> None:
        place = Path(folder).resolve()
        self._root, self._version = place.parent, version
        self.package = place.name
        self.paths = [str(path.relative_to(self._root)) for path in sorted(place.rglob('*.py*'))]

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self._root / path).read_text()

    def origin(self, distro: str) -> str:
        """Return where this comes from."""
        return f'{self._version}, installed package'


def statements(body: Iterable) -> Iterator:
    """Return what importing a module executes: blocks are entered, functions are not."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.unparse(node.test):
            yield from statements(node.orelse)
        elif not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in ('body', 'handlers', 'orelse', 'finalbody'):
                yield from statements(getattr(node, part, ()))


def dotted(node: ast.AST) -> 'str | None':
    """Return `a.b.c` of an expression, subscripts left out; None if it is something else."""
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    if isinstance(node, ast.Attribute):
        parent = dotted(node.value)
        return parent and f'{parent}.{node.attr}'
    return node.id if isinstance(node, ast.Name) else None


def targets(node: ast.AST) -> list:
    """Return the names that an assignment binds."""
    found = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [n for target in found for n in ast.walk(target)
            if isinstance(n, (ast.Name, ast.Attribute))]


def is_public(name: str) -> bool:
    """Say whether a name is for us."""
    return not name.startswith('_') or name in SPECIAL


def read_module(name: str, is_package: bool, text: str) -> Module:
    """Return a module from its source."""
    module = Module(name, is_package)
    for node in statements(ast.parse(text).body):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            module.names[node.name] = node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                module.loads.add(alias.name)
                module.names[alias.asname or alias.name.split('.')[0]] = (
                    alias.name if alias.asname else alias.name.split('.')[0])
        elif isinstance(node, ast.ImportFrom):
            above = name.split('.')[:len(name.split('.')) - node.level + is_package]
            source = '.'.join([*(above if node.level else ()), *filter(None, [node.module])])
            module.loads |= {source, *(f'{source}.{alias.name}' for alias in node.names)}
            for alias in node.names:
                if alias.name == '*':
                    module.stars.append(source)
                else:
                    module.names[alias.asname or alias.name] = f'{source}.{alias.name}'
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            value = dotted(node.value) if node.value is not None else None
            if isinstance(node.value, ast.Call) and 'import_c_library' in ast.unparse(node.value):
                value = f'{WHOLE}.{NATIVE}'
            for target in targets(node):
                if isinstance(target, ast.Name):
                    module.names[target.id] = value and _from_here(module, value)
    return module


def _from_here(module: Module, value: str) -> 'str | None':
    """Return what the value of an assignment is called outside of the module."""
    first, _, rest = value.partition('.')
    known = module.names.get(first)
    if isinstance(known, str):
        return f'{known}.{rest}' if rest else known
    return f'{module.name}.{value}' if known is not None else (
        value if first in PACKAGES else None)


def read_native(tree: object) -> Module:
    """Return the native module, of which only the names are known."""
    text = ''.join(tree.read(p) for p in tree.paths if p.endswith(f'{NATIVE}.pyi'))
    names = re.findall(r'^(?:class|def) (\w+)', text, re.MULTILINE)
    if not text:
        text = ''.join(tree.read(p) for p in tree.paths
                       if p.startswith('src/') and p.endswith('.cpp'))
        names = re.findall(
            r'(?:register_exception|py::enum_|py::class_)<[^;"]*?>+\s*\(\s*\w+,\s*"(\w+)"', text)
        names += re.findall(r'\bm(?:odule)?\.def\(\s*"(\w+)"', text)
    return Module(f'{WHOLE}.{NATIVE}', names=dict.fromkeys(names))


def parameters(node: ast.FunctionDef, is_bound: bool) -> list:
    """Return the parameters of a function."""
    arguments = node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][is_bound:]
    if arguments.vararg or arguments.kwonlyargs:
        positional.append(f'*{arguments.vararg.arg if arguments.vararg else ""}')
    positional += [a.arg for a in arguments.kwonlyargs]
    return positional + ([f'**{arguments.kwarg.arg}'] if arguments.kwarg else [])


def members(node: ast.ClassDef) -> dict:
    """Return the public members of a class, with attributes that its methods set."""
    found, slots = {}, []
    for part in statements(node.body):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            marks = {(dotted(d.func if isinstance(d, ast.Call) else d) or '').split('.')[-1]
                     for d in part.decorator_list}
            is_method = not marks & {'property', 'cached_property', 'setter', 'getter', 'deleter'}
            found[part.name] = parameters(
                part, 'staticmethod' not in marks) if is_method else None
            for inner in ast.walk(part):
                if isinstance(inner, (ast.Assign, ast.AnnAssign)):
                    for target in targets(inner):
                        if dotted(target) == f'self.{getattr(target, "attr", "")}':
                            found.setdefault(target.attr, None)
        elif isinstance(part, (ast.Assign, ast.AnnAssign)):
            for target in targets(part):
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, None)
                    if target.id == '__slots__':
                        slots = [s.value for s in ast.walk(part) if isinstance(s, ast.Constant)]
        elif isinstance(part, ast.ClassDef):
            found[part.name] = None
    if found.get('__new__') is not None:
        found.setdefault('__init__', found['__new__'])  # rclpy's Clock has no other
    start = found.get('__init__')
    if slots and start and start[-1].startswith('**'):
        # Humble's QoSProfile takes the names of its slots.
        found['__init__'] = [*start[:-1], '*', *(s.removeprefix('_') for s in slots)]
    return {name: value for name, value in found.items() if is_public(name)}


class Api:
    """What the trees of one distribution offer."""

    def __init__(self, trees: Iterable) -> None:
        self._modules = {}
        for tree in trees:
            for path in tree.paths:
                parts = path.split('/')
                if parts[0] == tree.package and path.endswith('.py'):
                    is_package = parts[-1] == '__init__.py'
                    name = '.'.join(parts[:-1] if is_package else [*parts[:-1], parts[-1][:-3]])
                    self._modules[name] = read_module(name, is_package, tree.read(path))
            if tree.package == WHOLE:
                native = read_native(tree)
                self._modules[native.name] = native
        for module in self._modules.values():
            for source in filter(self._modules.get, module.stars):
                for name in filter(is_public, self._modules[source].names):
                    module.names.setdefault(name, f'{source}.{name}')

    def resolve(self, name: str) -> 'str | None':
        """Return where a dotted name is defined; None if it is not here."""
        for _ in range(20):
            parts = name.split('.')
            known = next((n for n in range(len(parts), 0, -1)
                          if '.'.join(parts[:n]) in self._modules), 0)
            if not known or known == len(parts):
                return name if known else None
            module, rest = self._modules['.'.join(parts[:known])], parts[known:]
            if rest[0] not in module.names:
                return None
            value = module.names[rest[0]]
            if not isinstance(value, str) or value == name:
                return name
            name = '.'.join([value, *rest[1:]])
        return None

    def _definition(self, name: str) -> object:
        module, _, last = name.rpartition('.')
        return self._modules[module].names.get(last) if module in self._modules else None

    def _loaded(self, name: str) -> set:
        """Return the modules that importing one imports."""
        found, left = set(), [name]
        while left:
            current = left.pop()
            parts = current.split('.')
            for known in ('.'.join(parts[:n]) for n in range(1, len(parts) + 1)):
                if known in self._modules and known not in found:
                    found.add(known)
                    left += self._modules[known].loads
        return found

    def reach(self, wanted: set) -> dict:
        """Return what there is to know about rclpy and the wanted modules and names."""
        names = {m for m in self._modules if m.split('.')[0] == WHOLE or m in wanted}
        result = {'modules': {}, 'aliases': {}, 'classes': {}, 'functions': {}}
        left = set()
        for name in names:
            module = self._modules[name]
            loaded = {m.rpartition('.')[2] for m in self._loaded(name)
                      if m.rpartition('.')[0] == name}
            public = {n for n in {*module.names, *loaded} if is_public(n)}
            result['modules'][name] = sorted(public)
            for full in (f'{name}.{inner}' for inner in public):
                place = self.resolve(full)
                if place == full and name.split('.')[0] == WHOLE:
                    left.add(place)
                elif place is not None and (full in wanted or full.count('.') < 3 and (
                        module.is_package and name.split('.')[0] == WHOLE)):
                    left.add(place)
                    if place != full:
                        result['aliases'][full] = place
        while left:
            self._describe(left.pop(), result, left)
        return result

    def _describe(self, name: str, result: dict, left: set) -> None:
        node = self._definition(name)
        if isinstance(node, ast.ClassDef) and name not in result['classes']:
            module = self._modules[name.rpartition('.')[0]]
            bases = [dotted(base) or '?' for base in node.bases]
            places = [self.resolve(_from_here(module, base) or '') or base for base in bases]
            places = [p for p in places if p.rpartition('.')[2] not in NEUTRAL_BASES]
            result['classes'][name] = {'bases': places, 'members': members(node)}
            left.update(places)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            result['functions'][name] = parameters(node, False)


def imported(folders: Iterable) -> set:
    """Return the modules, and the names in them, that the files in some folders import."""
    found = set()
    for path in (p for folder in folders for p in Path(folder).rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {f'{node.module}.{alias.name}' for alias in node.names}
    return {'.'.join(name.split('.')[:n]) for name in found if name.split('.')[0] in PACKAGES
            for n in range(1, name.count('.') + 2)}


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--git', nargs=3, action='append', default=[],
                        metavar=('DISTRO', 'CLONE', 'REF'))
    parser.add_argument('--folder', nargs=3, action='append', default=[],
                        metavar=('DISTRO', 'FOLDER', 'VERSION'))
    parser.add_argument('--code', nargs='+', type=Path,
                        default=[ROOT / 'edge_llm_ros', ROOT / 'launch'])
    parser.add_argument('--output', type=Path, default=ROOT / 'test' / 'data' / 'ros_api.json')
    args = parser.parse_args()
    trees: dict = {}
    for kind, sources in ((GitTree, args.git), (FolderTree, args.folder)):
        for distro, place, ref in sources:
            trees.setdefault(distro, []).append(kind(place, ref))
    wanted = imported(args.code)
    result = {distro: {'origin': {t.package: t.origin(distro) for t in those},
                       **Api(those).reach(wanted)} for distro, those in trees.items()}
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(result, indent=1, sort_keys=True) + '\n')


if __name__ == '__main__':
    main()
