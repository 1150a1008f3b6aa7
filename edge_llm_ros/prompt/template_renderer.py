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
Renders a chat template out of a model file: code from a stranger, so in a sandbox.

The sandbox keeps the template from Python's insides; the process has limits of time and memory,
since a sandbox does not keep two nested loops from running for hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import datetime
import json
import os
import resource
import subprocess
import sys
from typing import Any, NoReturn

from edge_llm_ros.flow.errors import ConfigError

_FIXED_DATE = datetime.datetime(2026, 1, 1, 12, 0, 0)
_MEMORY_BYTES = 512 << 20
_MAX_TEXT = 4 << 20  # characters of all renderings together
_ENVIRONMENT = ('PATH', 'LD_LIBRARY_PATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')


def render(template: str,
           conversations: Sequence[Mapping[str, Any]],
           *,
           bos_text: str,
           eos_text: str,
           seconds: float = 10.0) -> list[str]:
    """
    Render a template for several conversations.

    :param conversations: keyword arguments of the template: messages, add_generation_prompt
    :param seconds: for all of them together
    :raises ConfigError: if the template fails or takes too long
    """
    request = json.dumps({'template': template, 'conversations': list(conversations),
                          'bos': bos_text, 'eos': eos_text, 'seconds': seconds})
    # Of the environment only what starts Python at all, where ROS comes as wheels.
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment['PYTHONPATH'] = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    try:
        child = subprocess.run(
            [sys.executable, '-m', __name__], input=request, capture_output=True, text=True,
            timeout=seconds + 10, env=environment, cwd='/')
    except subprocess.TimeoutExpired:
        raise ConfigError(f'the chat template took more than {seconds:g} s to render.') from None
    if child.returncode != 0:
        reason = child.stderr.strip().splitlines()[-1:] or ['it took too long or too much memory']
        raise ConfigError(f'the chat template cannot be rendered: {reason[0]}')
    rendered: list[str] = json.loads(child.stdout)
    return rendered


def _raise(message: str) -> NoReturn:
    raise ValueError(message)


def _main() -> int:
    """Render what stands on standard input; runs in the child."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    request = json.load(sys.stdin)
    seconds = int(request['seconds']) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=['jinja2.ext.loopcontrols'])
    environment.globals['raise_exception'] = _raise
    environment.globals['strftime_now'] = _FIXED_DATE.strftime
    try:
        template = environment.from_string(request['template'])
        rendered = [
            template.render(bos_token=request['bos'], eos_token=request['eos'], **conversation)
            for conversation in request['conversations']
        ]
    except Exception as error:  # the template is anybody's code
        print(f'{type(error).__name__}: {error}', file=sys.stderr)
        return 1
    if sum(map(len, rendered)) > _MAX_TEXT:
        print(f'it writes more than {_MAX_TEXT} characters', file=sys.stderr)
        return 1
    json.dump(rendered, sys.stdout)
    return 0


if __name__ == '__main__':
    sys.exit(_main())
