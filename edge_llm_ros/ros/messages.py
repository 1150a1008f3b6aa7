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

"""Interfaces by name, and the fields of their messages by path."""

from __future__ import annotations

import importlib
from typing import Any

from edge_llm_ros.flow.errors import ConfigError


def interface(name: str, where: str) -> Any:
    """
    Return the Python class of an interface such as ``std_srvs/srv/SetBool``.

    :param where: file and key, for the message
    :raises ConfigError: if it is not installed here
    """
    package, kind, type_name = name.split('/')
    try:
        module = importlib.import_module(f'{package}.{kind}')
    except ImportError:
        module = None
    if module is not None and not hasattr(module, type_name):
        names = sorted(n for n in dir(module) if n[0].isupper())
        raise ConfigError(
            f'{where}: {package!r} has no {kind} {type_name!r}; it has {", ".join(names)}.')
    if module is not None:
        return getattr(module, type_name)
    else:
        raise ConfigError(
            f'{where}: the interface {name!r} is not installed here. Install the package '
            f'{package!r} '
            f'and source its workspace, or correct the type.') from None


def get(message: Any, path: str) -> Any:
    """Return the value at a dotted path."""
    for part in path.split('.'):
        message = getattr(message, part)
    return message
