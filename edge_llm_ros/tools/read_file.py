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

"""Files of a given format: each thing that is wrong is said with its line, its key and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.tools.argument import FOLDER
from edge_llm_ros.tools.strict_yaml import read_document, Where, YamlDocument
from pydantic import BaseModel, ValidationError

FileModel = TypeVar('FileModel', bound=BaseModel)

_SHOWN = 20  # problems
_PLAIN_WORDS = {
    'Field required': 'is missing',
    'Extra inputs are not permitted': 'is not a key here',
    'Input should be a valid dictionary': 'a mapping is needed, such as {data: true}',
}
_NUMBERS = ('int_type', 'float_type', 'int_parsing', 'float_parsing')


def read_file(path: str, model: type[FileModel]) -> FileModel:
    """
    Read a YAML file of a given format.

    :raises ConfigError: that names file, line and key for each thing that is wrong
    """
    document = read_document(path)
    try:
        return model.model_validate(document.value, context={FOLDER: Path(path).parent})
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        lines = [_problem(path, document, problem) for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            lines.append(f'{path}: and {len(problems) - _SHOWN} more.')
        raise ConfigError('\n'.join(dict.fromkeys(lines))) from None
    except RecursionError:
        raise ConfigError(f'{path}: is nested too deeply.') from None


def _problem(path: str, document: YamlDocument, problem: Any) -> str:
    """Say one thing that is wrong; where it stands is the deepest key of its path that exists."""
    line = 1
    at: Where = ()
    for part in problem['loc']:
        # Parts that are no key name a way to read the value, of several that are allowed.
        if (*at, part) in document.lines:
            at = (*at, part)
            line = document.lines[at]
    where = '.'.join(str(part) for part in problem['loc'] if part != '[key]') or 'the file'
    text = problem['msg'].removeprefix('Value error, ')
    return f'{path}, line {line}: {where}: {_PLAIN_WORDS.get(text, text)}{_hint(problem)}'


def _hint(problem: Any) -> str:
    """Say what a person may have meant by a text where there should be none."""
    value, kind = problem['input'], problem['type']
    if not isinstance(value, str) or len(value) > 64:
        if kind == 'string_type' and isinstance(value, (bool, int, float)):
            return f', not {value!r}: quote it'
        return ''
    if kind in ('bool_type', 'bool_parsing'):
        return f', not the text {value!r}: write true or false'
    if kind in _NUMBERS:
        return (f', not the text {value!r}: write it without quotes and as a plain decimal number,'
                ' such as 10 or 1.5e3')
    return ''
