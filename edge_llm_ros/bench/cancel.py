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

"""How soon a cancel ends a long prefill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import random
import threading
import time

from edge_llm_ros.bench.engine_arm import EngineArm
from edge_llm_ros.bench.row import Row, row
from edge_llm_ros.bench.workload import filler
from edge_llm_ros.flow.engine import Completion, EngineConfig, GenerateRequest, Stop
from edge_llm_ros.flow.errors import EngineError

_TOKENS = 8000
_GRAMMAR = '%llguidance {}\nstart: "yes" | "no"\n'


def cancels(model_path: str, repeats: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """
    Cancel prefills of 8,000 tokens at random moments.

    :raises EngineError: if one of them ends in another way
    """
    arm = EngineArm(EngineConfig(model_path=model_path, context_tokens=_TOKENS + 512,
                                 max_sessions=2, guess=False))
    try:
        tokens = filler(arm.tokenize, _TOKENS, 'long')
        generator, times = random.Random(0), []
        for number in range(repeats):
            request = GenerateRequest(f'cancel {number}', f's{number}', tokens, _GRAMMAR, 8)
            asked: list[float] = []

            def cancel(name: str = request.id, asked: list[float] = asked) -> None:
                asked.append(time.monotonic())
                arm.engine.cancel(name)

            timer = threading.Timer(generator.uniform(0.2, 1.5), cancel)
            timer.start()
            *_, end = arm.engine.generate(request)
            ended = time.monotonic()
            timer.join()
            assert isinstance(end, Completion)
            if end.stop is not Stop.CANCELED:
                raise EngineError('the prefill was over before it was canceled.')
            times.append(ended - asked[0])
            arm.engine.check_integrity()
            arm.engine.release(f's{number}')
    finally:
        arm.close()
    figure = row('cancel', 'ours', 'cancel_s', times, 's')
    tell(f'{repeats} cancels in a prefill: {figure.median * 1e3:.0f} ms, at most '
         f'{max(times) * 1e3:.0f} ms')
    yield figure
