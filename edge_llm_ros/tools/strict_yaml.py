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

"""YAML read strictly: what a person did not mean is an error, not a surprise at run time."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
import re
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
import yaml

_MAX_BYTES = 4 << 20


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2, without duplicate keys, aliases and tags."""

    yaml_implicit_resolvers = {}  # type: ignore[misc]

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag.removeprefix('tag:yaml.org,2002:') not in (
                'map', 'seq', 'str', 'bool', 'null', 'int', 'float'):
            raise yaml.constructor.ConstructorError(
                None, None, f'the tag {node.tag!r} is not allowed', node.start_mark)
        return super().construct_object(node, deep)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(
                None, None, 'aliases (*name) are not allowed: write the values out',
                event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f'the key {name!r} is {type(name).__name__}, not text: quote it',
                    key.start_mark)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'the key {name!r} is there twice', key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


# Of YAML 1.1 are `on` for true, 010 for 8, 12:30 for 750, and dates; nobody means them here.
for _tag, _pattern, _first in (('bool', r'true|True|TRUE|false|False|FALSE',
                                'tTfF'), ('null', r'null|Null|NULL|~|', [
                                    'n', 'N', '~', ''
                                ]), ('int', r'[-+]?(0|[1-9][0-9]*)', '-+0123456789'),
                               ('float',
                                r'[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?',
                                '-+.0123456789')):
    _StrictLoader.add_implicit_resolver(
        f'tag:yaml.org,2002:{_tag}', re.compile(f'(?:{_pattern})$'), list(_first))


def read_yaml(path: str) -> dict[str, Any]:
    """
    Read a YAML file that holds a mapping.

    :raises ConfigError: with file, line and reason
    """
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise ConfigError(f'{path}: the file is larger than {_MAX_BYTES >> 20} MiB.')
        value = yaml.load(file.read_text(encoding='utf-8'), Loader=_StrictLoader)  # noqa: S506
    except OSError as error:
        raise ConfigError(f'{path}: cannot be read: {error.strerror}.') from error
    except UnicodeDecodeError as error:
        raise ConfigError(f'{path}: is not UTF-8 (byte {error.start}).') from error
    except RecursionError:
        raise ConfigError(f'{path}: is nested too deeply.') from None
    except (ValueError, TypeError) as error:
        # A tag such as !!timestamp on a value that is none.
        raise ConfigError(f'{path}: {error}.') from error
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        line = f', line {mark.line + 1}' if mark else ''
        raise ConfigError(f'{path}{line}: {getattr(error, "problem", None) or error}.') from error
    if not isinstance(value, dict):
        raise ConfigError(f'{path}: a mapping was expected, not {type(value).__name__}.')
    return value
