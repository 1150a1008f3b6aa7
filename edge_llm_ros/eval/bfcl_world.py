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

"""The objects behind BFCL's multi-turn items, which are of the leaderboard's own classes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
import copy
import importlib
import json
from pathlib import Path
import sys
from typing import Any

from edge_llm_ros.flow.errors import ConfigError

# Files of the classes, beside which their functions are described.
MODULES = {
    'VehicleControlAPI': 'vehicle_control', 'MessageAPI': 'message_api', 'MathAPI': 'math_api',
    'TwitterAPI': 'posting_api', 'TicketAPI': 'ticket_api', 'TravelAPI': 'travel_booking',
    'TradingBot': 'trading_bot', 'GorillaFileSystem': 'gorilla_file_system'}
_FOLDER = ('eval_checker', 'multi_turn_eval', 'func_source_code')
_STATELESS = 'MathAPI'


class BfclWorld:
    """
    Objects whose methods are called, and whose public attributes are their state.

    :param source: folder of the leaderboard's package; its classes are run as they are
    :param classes: of the objects, one each
    :param config: what they begin with, by class
    :raises ConfigError: if there is no such class
    """

    def __init__(self, source: Path, classes: Sequence[str], config: Mapping[str, Any]) -> None:
        self._objects = {name: _class(source, name)() for name in classes}
        for name, thing in self._objects.items():
            if name != _STATELESS:
                thing._load_scenario(copy.deepcopy(config.get(name, {})), long_context=False)

    def call(self, name: str, positional: Sequence[Any] = (), /, **named: Any
             ) -> tuple[str, bool]:
        """Call a function; returns its result as text, and whether it is one."""
        thing = next((t for t in self._objects.values() if hasattr(t, name)), None)
        try:
            if thing is None or name.startswith('_'):
                raise AttributeError(f'there is no function {name!r}')
            result = getattr(thing, name)(*positional, **named)
        except Exception as error:  # whatever their code makes of the arguments is the answer
            return f'Error during execution: {error}', False
        if isinstance(result, dict):
            try:
                return json.dumps(result), 'error' not in result
            except (TypeError, ValueError):
                pass
        return str(result), True

    def call_written(self, text: str) -> str:
        """Make a call that is written as Python; returns its result as text."""
        name, positional, named = read_python_call(text)
        return self.call(name, positional, **named)[0]

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the public attributes of each object."""
        return {name: {key: value for key, value in vars(thing).items() if key[0] != '_'}
                for name, thing in self._objects.items()}


def read_python_call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """
    Return name, positional and named arguments of a call.

    :raises ConfigError: if it is not a call with plain values
    """
    try:
        node = ast.parse(text.strip(), mode='eval').body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError
        return (node.func.id, [ast.literal_eval(value) for value in node.args],
                {word.arg or '': ast.literal_eval(word.value) for word in node.keywords})
    except (SyntaxError, ValueError):
        raise ConfigError(f'{text!r} is not a call with plain values.') from None


def _class(source: Path, name: str) -> Any:
    """Return a class of the leaderboard's package, which need not be installed."""
    file = source.joinpath(*_FOLDER, f'{MODULES[name]}.py')
    if not file.is_file():
        raise ConfigError(f'{file} is missing, which has the class {name}. Give the data folder '
                          'of a checkout of the leaderboard, or take the multi-turn files away.')
    root = str(source.parent)
    if root not in sys.path:
        sys.path.append(root)
    try:
        module = importlib.import_module('.'.join((source.name, *_FOLDER, MODULES[name])))
        return getattr(module, name)
    except Exception as error:  # whatever their module does when it is read
        raise ConfigError(f'{file}: {name} cannot be used: {error}. Install what it needs.'
                          ) from error
