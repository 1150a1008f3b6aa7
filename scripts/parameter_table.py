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

"""Write the tables of parameters in the README files and in doc/ from the one table in code."""

from __future__ import annotations

from pathlib import Path
import re
import sys

from edge_llm_ros.agent.parameters import PARAMETERS, PlannerParameter

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = '<!-- parameters -->', '<!-- end of parameters -->'
READMES = ('README.md', 'README.zh.md')


def _range(parameter: PlannerParameter) -> str:
    if parameter.choices:
        return ', '.join(parameter.choices)
    if parameter.bounds is None:
        return ''
    kind = type(parameter.default)
    return f'{kind(parameter.bounds[0])} … {kind(parameter.bounds[1])}'


def _default(parameter: PlannerParameter) -> str:
    return '[]' if parameter.default == [''] else str(parameter.default)


def markdown() -> str:
    """Return the table for the README files."""
    lines = ['| parameter | default | range | live | meaning |', '|---|---|---|---|---|']
    for p in PARAMETERS:
        default = f'`{_default(p)}`' if _default(p) else ''
        live = 'yes' if p.live else ''
        lines.append(f'| `{p.name}` | {default} | {_range(p)} | {live} | {p.description} |')
    return '\n'.join(lines)


def restructured_text() -> str:
    """Return the page for doc/."""
    lines = ['Parameters', '==========', '',
             'Of the node ``planner``. A live one counts for the next goal; the others are read',
             'at configure. Made by ``scripts/parameter_table.py``.', '']
    for p in PARAMETERS:
        facts = [f'default ``{_default(p)}``' if _default(p) else 'no default', _range(p),
                 'live' if p.live else '']
        lines += [f'``{p.name}``', f'    {p.description} ({"; ".join(f for f in facts if f)})', '']
    return '\n'.join(lines)


def files() -> dict[Path, str]:
    """Return what each file that holds a table should be."""
    wanted = {ROOT / 'doc' / 'parameters.rst': restructured_text()}
    for name in READMES:
        path = ROOT / name
        if path.exists():
            wanted[path] = re.sub(
                f'{BEGIN}.*?{END}', lambda _: f'{BEGIN}\n{markdown()}\n{END}', path.read_text(),
                flags=re.S)
    return wanted


def main() -> int:
    """Write the files."""
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
