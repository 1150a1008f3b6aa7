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

"""A planner whose engine process ends: the goal ends typed, the next one works, sessions go on."""

from collections.abc import Callable
import os
from pathlib import Path
import re
import resource
import signal
from typing import Any

from edge_llm_interfaces.action import Plan
from edge_llm_interfaces.msg import PlanStep
from edge_llm_ros.cli.processes import NodeProcess
from edge_llm_ros.engine.host import RESTARTED
from edge_llm_ros.ros.conversions import seconds
import pytest
from robot_bench import ABORTED, Bench, children, only

OUTCOME, EVENT = Plan.Result, Plan.Feedback
TOOLS = {**only('say', text={'max_length': 40}),
         **only('creep', speed={'enum': [0.1]}, seconds={'enum': [0.5, 0.6]}),
         **only('move_to', place={'enum': ['office', 'kitchen']}),
         **only('set_lights', state={'values': {'on': {'data': True}}})}
FALLBACK = {'tool': 'set_lights', 'arguments': {'state': 'on'}, 'message': 'The robot waits.'}
# The phase: the tool that may be called, the context of the goal, and what shows that it is there.
PHASES: dict[str, tuple[str, str, Callable[[Any], bool]]] = {
    'prefill': ('say', 'The floor is wet. ' * 25, lambda f: f.event == EVENT.EVENT_PREFILL),
    'decode': ('say', '', lambda f: f.event == EVENT.EVENT_TEXT),
    'tool call': ('move_to', '', lambda f: f.event == EVENT.EVENT_PROGRESS),
    'short tool call': ('creep', '', lambda f: f.event == EVENT.EVENT_CALL)}


def _start(bench: Bench, model: str) -> NodeProcess:
    """Start a slow robot, and a planner that falls back to switching on the lights."""
    bench.robot(speed=0.2)
    tool_file = bench.file('fallback.yaml', {
        'version': 1, 'builtins': {'finish': False, 'wait': 0.0, 'compare': False},
        'tools': TOOLS, 'fallback': FALLBACK})
    return bench.planner(
        model, {}, tool_files=[tool_file], prefix_folder=str(bench.folder / 'prefixes'),
        threads=1, guess=False, loop_limit=100, chunk_seconds=0.02)


def _works(bench: Bench) -> Any:
    """Let the planner make a call in the session, and return the goal's result."""
    result = bench.plan('Hello.', max_steps=1, session_id='s', allowed_tools=['say']).result
    assert result.outcome == OUTCOME.MAX_STEPS, result.message
    return result


def _break(bench: Bench, fault: Callable[[int], None], planner: NodeProcess, phase: str) -> Any:
    """Inflict a fault in a phase of a goal, and return how the goal ended."""
    tool, context, reached = PHASES[phase]
    # A long prompt is not for the session, which would be evaluated again after each fault.
    goal = bench.send('Say something long, or go.', context=context, max_steps=2,
                      session_id='' if context else 's', allowed_tools=[tool])
    assert goal is not None, bench.logs()
    goal.until(reached)
    engine, = children(planner.process.pid)
    fault(engine)
    end = goal.end(40.0)
    assert (end.status, end.result.outcome) == (ABORTED, OUTCOME.ENGINE_ERROR), end.result
    assert end.result.message.endswith('The robot waits. The fallback call set_lights was made.')
    assert end.result.steps[-1].tool == 'set_lights' and bench.state()['lights']
    assert not bench.state()['moving']
    return end.result


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _end_while_idle(bench: Bench, planner: NodeProcess) -> None:
    ends = planner.log_text().count('was ended by SIGKILL')
    _kill(*children(planner.process.pid))
    bench.until(lambda: planner.log_text().count('was ended by SIGKILL') > ends)


def test_an_engine_that_ends_ends_one_goal_at_most(bench: Bench, test_model: str) -> None:
    planner = _start(bench, test_model)
    node, log = planner.process.pid, planner.log_text()
    assert 'libllama' not in Path(f'/proc/{node}/maps').read_text()
    last = _works(bench)
    assert last.metrics.peak_memory_bytes > 200e6  # the node alone has less than half
    for phase in ('prefill', 'decode', 'tool call'):
        result = _break(bench, _kill, planner, phase)
        assert 'SIGKILL' in result.message
        if phase == 'tool call':
            # Not waited for: at this speed it takes half a minute.
            assert result.steps[0].status == PlanStep.STATUS_CANCELED
        before, last = last, _works(bench)
        assert last.metrics.reuse_lost == RESTARTED
        assert last.metrics.prompt_tokens > before.metrics.prompt_tokens
    _end_while_idle(bench, planner)
    fresh = bench.plan('Hello.', max_steps=1, allowed_tools=['say']).result.metrics
    # The model loads in a second and its prefix comes from disk, unless the machine is busy.
    first, load = seconds(fresh.time_to_first_token), re.search(r'loaded in ([\d.]+) s', log)
    print(f'{first:.2f} s from the goal to its first token; the model loads in {load[1]} s')
    assert fresh.prefill_tokens < 40 and first < 60
    assert _works(bench).metrics.reuse_lost == RESTARTED
    engine, = children(node)
    assert bench.logs().count('started again') == 4 and 'Traceback' not in bench.logs()
    planner.process.send_signal(signal.SIGTERM)
    assert planner.process.wait(5.0) == 0, planner.log_text()
    bench.until(lambda: engine not in children(node), 2.0)


def test_other_ends_while_a_tool_works(bench: Bench, test_model: str) -> None:
    planner = _start(bench, test_model)
    _works(bench)
    # A process that stands still is noticed by the next who asks it something.
    for number, phase, reason in ((signal.SIGSEGV, 'tool call', 'SIGSEGV'),
                                  (signal.SIGSTOP, 'short tool call', 'no sign of life')):
        result = _break(bench, lambda pid: os.kill(pid, number), planner, phase)
        assert reason in result.message
        assert _works(bench).metrics.reuse_lost == RESTARTED
    # One that is started and gets no memory, and so is the second in a row that ends.
    _end_while_idle(bench, planner)
    goal = bench.send('Hello.', max_steps=1, session_id='s', allowed_tools=['say'])
    bench.until(lambda: bool(children(planner.process.pid)))
    for pid in children(planner.process.pid):
        resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    end = goal.end(40.0)
    assert end.result.outcome == OUTCOME.ENGINE_ERROR
    # Python ends with a code where it gets no memory, C++ by a signal.
    assert re.search('the engine process (ended with exit code|was ended by SIGABRT)',
                     end.result.message), end.result.message
    bench.spin(1.2)  # it has to wait before it is started again
    assert _works(bench).metrics.reuse_lost == RESTARTED


def _limit(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))


def _signal(number: int) -> Callable[[int], None]:
    return lambda pid: os.kill(pid, number)


# A fault, the tool at work when it comes, and what the message then says; nothing where the engine
# may get through.
FAULTS: dict[str, tuple[Callable[[int], None], str, str]] = {
    'SIGKILL': (_kill, 'tool call', 'SIGKILL'),
    'SIGSEGV': (_signal(signal.SIGSEGV), 'tool call', 'SIGSEGV'),
    'SIGSTOP': (_signal(signal.SIGSTOP), 'short tool call', 'no sign of life'),
    # What it has is enough for some steps; what it needs beyond that, it does not get.
    'memory limit': (_limit, 'short tool call', '')}


def _recovers(bench: Bench) -> int:
    """Ask until a goal works again; return how many ended typed before, which is one at most."""
    for failed in range(3):
        result = bench.plan('Hello.', max_steps=1, session_id='s', allowed_tools=['say']).result
        if result.outcome == OUTCOME.MAX_STEPS:
            return failed
        assert result.outcome == OUTCOME.ENGINE_ERROR, result.message
        bench.spin(1.5)  # a second end in a row waits before it is started again
    raise AssertionError(bench.logs())


@pytest.mark.soak
@pytest.mark.parametrize('fault', FAULTS)
def test_every_fault_in_every_phase(bench: Bench, test_model: str, fault: str) -> None:
    inflict, tool_phase, reason = FAULTS[fault]
    planner = _start(bench, test_model)
    _works(bench)
    for phase in ('idle', 'prefill', 'decode', tool_phase):
        bench.spin(2.0)  # so that the end before this one is no longer the last of a row
        if phase == 'idle':
            inflict(*children(planner.process.pid))
            bench.spin(0.5)
        elif reason:
            assert reason in _break(bench, inflict, planner, phase).message
        else:
            tool, context, reached = PHASES[phase]
            goal = bench.send('Say something long, or go.', context=context, max_steps=2,
                              session_id='' if context else 's', allowed_tools=[tool])
            goal.until(reached)
            inflict(*children(planner.process.pid))
            assert goal.end(40.0).result.outcome in (OUTCOME.ENGINE_ERROR, OUTCOME.MAX_STEPS)
        assert _recovers(bench) <= 1, (fault, phase)
        for pid in children(planner.process.pid):
            # One that a limit has not ended yet is no part of the next phase.
            if fault == 'memory limit':
                _kill(pid)
        _recovers(bench)
    assert 'Traceback' not in planner.log_text()
    planner.process.send_signal(signal.SIGTERM)
    assert planner.process.wait(5.0) == 0, planner.log_text()
