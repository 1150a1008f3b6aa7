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
"""Reads a goal's file and shows it as a timeline."""

from __future__ import annotations

from dataclasses import dataclass
import html
import json
from pathlib import Path
from typing import Any

from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.trace.writer import VERSION

_STYLE = """body{font:15px/1.5 sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;text-align:left;
vertical-align:top;border-bottom:1px solid #ddd}td.n{text-align:right;white-space:nowrap}
code{font-size:13px;word-break:break-word}.bar{position:relative;height:1em;background:#f2f2f2;
min-width:16em}.bar span{position:absolute;top:0;height:1em}.p{background:#e08e45}
.d{background:#2d5d8c}.t{background:#7fb069}.bad{color:#a33}"""


@dataclass(frozen=True)
class Span:
    """
    When a step did what, in seconds from the goal's start.

    :param begin: the message was there
    :param first: the first token was chosen
    :param called: the call was complete
    :param end: its result was there
    """

    index: int
    tool: str
    arguments: str
    status: str
    told: str
    begin: float
    first: float
    called: float
    end: float


@dataclass(frozen=True)
class Trace:
    """
    What a file holds.

    :param goal: of the first line
    :param end: of the last line; empty where the goal was cut off
    :param seconds: until the last line
    """

    goal: dict[str, Any]
    spans: tuple[Span, ...]
    end: dict[str, Any]
    seconds: float


def read_trace(path: str) -> Trace:
    """
    Read a file; a last line that is cut off is left out.

    :raises ConfigError: naming the file and the line that is wrong
    """
    try:
        text = Path(path).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path}: cannot be read: {error}') from None
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict) or not isinstance(entry.get('time'), (int, float)):
                raise ValueError('an object with "time" and "event" is needed')
            lines.append(entry)
        except ValueError as error:
            if number > 1 and not text.endswith('\n') and number == len(text.splitlines()):
                break
            raise ConfigError(f'{path}: line {number}: {error}') from None
    if not lines or lines[0].get('event') != 'goal' or lines[0].get('version') != VERSION:
        raise ConfigError(f'{path}: line 1: not the trace of a goal of version {VERSION}.')
    end = lines[-1] if lines[-1].get('event') == 'finished' else {}
    return Trace(lines[0], tuple(_spans(lines, path)), end, float(lines[-1]['time']))


def _spans(lines: list[dict[str, Any]], path: str) -> list[Span]:
    spans, begin, called = [], 0.0, 0.0
    for number, line in enumerate(lines, 1):
        if line.get('event') == 'call':
            called = float(line['time'])
        elif line.get('event') == 'step_done':
            try:
                metrics = line['metrics']
                inference = float(metrics['inference'])
                start = max(begin, called - inference)
                spans.append(Span(
                    int(line['index']), str(line['tool']), str(line['arguments']),
                    str(line['status']), str(line['observation']), start,
                    start + float(metrics['first_token']), called, float(line['time'])))
            except (KeyError, TypeError, ValueError) as error:
                raise ConfigError(f'{path}: line {number}: {error!r} in a step') from None
            begin = float(line['time'])
    return spans


def as_text(trace: Trace) -> str:
    """Return the timeline as lines for a terminal."""
    lines = [f'{trace.goal.get("utc", "")}  {trace.goal.get("instruction", "")}']
    for span in trace.spans:
        lines.append(
            f'{span.begin:8.2f} s  {span.tool} {span.arguments}  '
            f'first token {span.first - span.begin:.2f} s, call {span.called - span.begin:.2f} s, '
            f'tool {span.end - span.called:.2f} s  {span.status}')
        if span.told:
            lines.append(f'{"":12}{span.told}')
    lines.append(f'{trace.seconds:8.2f} s  ' + (
        f'{trace.end.get("outcome")}: {trace.end.get("message")}' if trace.end else
        'the file ends before the goal does'))
    return '\n'.join(lines)


def as_html(trace: Trace) -> str:
    """Return the timeline as one page that needs nothing else."""
    total = max(trace.seconds, 1e-6)

    def bar(span: Span) -> str:
        parts = (('p', span.begin, span.first, 'to the first token'),
                 ('d', span.first, span.called, 'rest of the call'),
                 ('t', span.called, span.end, 'tool'))
        return '<div class=bar>' + ''.join(
            f'<span class={name} title="{title}: {end - begin:.3f} s" '
            f'style="left:{100 * begin / total:.3f}%;width:{100 * (end - begin) / total:.3f}%">'
            '</span>' for name, begin, end, title in parts if end > begin) + '</div>'

    def cell(text: object) -> str:
        return html.escape(str(text))

    rows = ''.join(
        f'<tr><td class=n>{span.begin:.2f} s<td>{cell(span.tool)} '
        f'<code>{cell(span.arguments)}</code><td>{bar(span)}'
        f'<td{"" if span.status == "SUCCEEDED" else " class=bad"}>{cell(span.status.lower())}'
        f'<br><code>{cell(span.told)}</code>' for span in trace.spans)
    end = (f'{trace.end.get("outcome")}: {trace.end.get("message")}' if trace.end else
           'the file ends before the goal does')
    return (f'<!doctype html><meta charset=utf-8><title>{cell(trace.goal.get("instruction"))}'
            f'</title><style>{_STYLE}</style><h1>{cell(trace.goal.get("instruction"))}</h1>'
            f'<p>{cell(trace.goal.get("utc"))} · {trace.seconds:.2f} s · {cell(end)}</p>'
            '<p><span class=p>&emsp;</span> to the first token <span class=d>&emsp;</span> rest '
            'of the call <span class=t>&emsp;</span> tool</p><table><tr><th>at<th>call<th>time'
            f'<th>what the model was told{rows}</table>')
