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
Write the JSON schema of tool files, for editors: config/tool_file.schema.json.

It comes from the models that read the files; a test holds it to them.
"""

import json
from pathlib import Path
import re
import sys
from typing import Any

from edge_llm_ros.tools import builtins, readings, tool_file
from pydantic import BaseModel

PATH = Path(__file__).resolve().parent.parent / 'config' / 'tool_file.schema.json'
_PARAM = re.compile(r':param (\w+):\s*(.*?)(?=\n\s*:|\Z)', re.S)


def _models() -> dict[str, type[BaseModel]]:
    """Return every model of the format by name."""
    todo: list[type[BaseModel]] = [BaseModel]
    found: dict[str, type[BaseModel]] = {}
    while todo:
        model = todo.pop()
        if model.__module__.startswith('edge_llm_ros.tools.'):
            found[model.__name__] = model
        todo += model.__subclasses__()
    return found


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Give a schema the words of a model's docstring, and its keys those of the parameters."""
    text = model.__doc__ or ''
    words = {name: ' '.join(said.split()) for base in reversed(model.__mro__)
             for name, said in _PARAM.findall(base.__doc__ or '') if issubclass(base, BaseModel)}
    schema['description'] = ' '.join(text.split(':param')[0].split())
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in schema.get('properties', {}) and name in words:
            schema['properties'][key]['description'] = words[name]


def schema_text() -> str:
    """Return the schema as the file holds it."""
    assert builtins and readings
    schema = tool_file.ToolFile.model_json_schema(by_alias=True)
    models = _models()
    for name, part in [('ToolFile', schema), *schema.get('$defs', {}).items()]:
        _describe(part, models[name])
    schema = {'$schema': 'https://json-schema.org/draft/2020-12/schema', **schema,
              'title': 'Tool file of edge_llm_ros'}
    return json.dumps(schema, indent=1, ensure_ascii=False) + '\n'


def main() -> int:
    """Write the file."""
    PATH.write_text(schema_text())
    return 0


if __name__ == '__main__':
    sys.exit(main())
