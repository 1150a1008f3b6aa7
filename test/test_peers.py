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

"""Peers: the same goals and tools by their own APIs, and what they answer read as it is."""

from collections.abc import Sequence
import json
from pathlib import Path
import sys

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.eval import planner as planner_module
from edge_llm_ros.eval.__main__ import main
from edge_llm_ros.eval.peers.chat import (
    calls_in_text, ChatPeer, ChatReply, Message, NO_CALL, read_calls, UNREADABLE, Wording)
from edge_llm_ros.eval.peers.configuration import (
    Calls, configuration, CONFIGURATIONS, LLAMA_CPP_PYTHON, LLAMA_SERVER, PeerConfiguration)
from edge_llm_ros.eval.peers.peer_model import PeerModel
from edge_llm_ros.eval.peers.peers import start_peer
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import ConfigError, ContextFull
from edge_llm_ros.flow.event import Finished
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.flow.model import CallMade
from edge_llm_ros.flow.result import Outcome, Result
from edge_llm_ros.flow.tool import FINISH, Observation, Status, ToolCall, ToolSchema
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.tools.builtins import builtin_schemas, Builtins
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.toolset import GatedToolset
import pytest
from tiny_models import write_tiny_model

CONFIG = Path(__file__).resolve().parent.parent / 'config'
BUILTINS = Builtins(wait=0.0)
TOOLS = builtin_schemas(BUILTINS)
EXAMPLE = Example('Is 3 more than 2?', (
    (ToolCall('compare', {'value': 3, 'limit': 2}), '{"result": "3 is above 2"}'),
    (ToolCall(FINISH, {'success': True, 'summary': 'Yes.'}), '')))
END = (FINISH, '{"success": true, "summary": "4 is above 2."}')
COMPARED = ('compare', '{"value": 4, "limit": 2}')


class ScriptedPeer:
    """Answers what it is told to answer, and keeps what it was asked."""

    def __init__(self, *replies: ChatReply) -> None:
        self._replies = list(replies)
        self.asked: list[list[Message]] = []
        self.tools: list[list[str]] = []

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ChatReply:
        """Return the next reply."""
        self.asked.append(list(messages))
        self.tools.append([tool.name for tool in tools])
        return self._replies.pop(0)

    def close(self) -> None:
        """Do nothing."""


def _run(peer: ScriptedPeer, calls: Calls = Calls.TOOLS, goals: Sequence[str] = ('Is it?',),
         **settings: object) -> list[Result]:
    name = {Calls.TOOLS: 'default', Calls.SCHEMA: 'json_schema'}[calls]
    model = PeerModel(peer, configuration(LLAMA_SERVER, name), 'Obey.', TOOLS, [EXAMPLE])
    toolset = GatedToolset(LoadedTools({}, BUILTINS, {}), {})
    results = []
    for text in goals:
        goal = Goal(text, session_id='s', max_steps=4, time_budget=60.0, **settings)
        *_, last = Agent(model, toolset).run(goal, Cancellation())
        assert isinstance(last, Finished)
        results.append(last.result)
    return results


def test_calls_of_one_answer_are_made_one_after_the_other() -> None:
    peer = ScriptedPeer(ChatReply((COMPARED, END), '', prefill=90, generated=20))
    result, = _run(peer)
    assert result.outcome is Outcome.SUCCEEDED and result.message == '4 is above 2.'
    assert [step.tool for step in result.steps] == ['compare', FINISH]
    assert len(peer.asked) == 1
    assert result.metrics.tokens.prefill == 90 and result.metrics.tokens.generated == 20


def test_a_conversation_has_what_was_said_called_and_told() -> None:
    peer = ScriptedPeer(ChatReply((COMPARED,), ''), ChatReply((END,), ''), ChatReply((END,), ''))
    _run(peer, goals=('Is 4 above 2?', 'And now?'))
    messages = peer.asked[-1]
    assert [m['role'] for m in messages] == [
        'system', 'user', 'assistant', 'tool', 'assistant',  # the example
        'user', 'assistant', 'tool', 'assistant', 'user']
    called, told = messages[6:8]
    assert called['tool_calls'][0]['id'] == told['tool_call_id']
    assert called['tool_calls'][0]['function'] == {'name': 'compare', 'arguments': COMPARED[1]}
    assert json.loads(told['content']) == {'result': '4 is above 2'}
    assert [m['content'] for m in messages if m['role'] == 'user'] == [
        EXAMPLE.instruction, 'Is 4 above 2?', 'And now?']


def test_a_goal_that_narrows_its_tools_gives_it_no_others() -> None:
    peer = ScriptedPeer(ChatReply((END,), ''))
    _run(peer, allowed_tools=frozenset({FINISH, 'fly'}))
    assert peer.tools == [[FINISH]]
    peer = ScriptedPeer(ChatReply((END,), ''))
    _run(peer)
    assert peer.tools == [[tool.name for tool in TOOLS]]


def test_calls_that_wait_and_may_no_longer_be_made_are_answered() -> None:
    peer = ScriptedPeer(ChatReply((END, END), ''), ChatReply((COMPARED,), ''))
    model = PeerModel(peer, configuration(LLAMA_SERVER, 'default'), 'Obey.', TOOLS, [EXAMPLE])
    conversation = model.conversation('')
    conversation.instruct('Is it?', '')
    *_, made = conversation.next_call(None, Cancellation())
    assert isinstance(made, CallMade) and made.call.name == FINISH
    conversation.observe(made.call, Observation(Status.REFUSED, '{"ended": false}', 'not ended'))
    *_, made = conversation.next_call(frozenset({'compare'}), Cancellation())
    assert isinstance(made, CallMade) and made.call.name == 'compare'
    assert [m['content'] for m in peer.asked[1][-2:]] == [
        '{"ended": false}', '{"error": "not made"}']


def test_without_tools_calls_and_results_are_text() -> None:
    peer = ScriptedPeer(ChatReply((COMPARED,), ''), ChatReply((END,), ''))
    _run(peer, Calls.SCHEMA)
    messages = peer.asked[-1]
    assert all(tool.name in messages[0]['content'] for tool in TOOLS)
    assert {m['role'] for m in messages} == {'system', 'user', 'assistant'}
    assert calls_in_text(messages[-2]['content']) == (
        ('compare', '{"value": 4, "limit": 2}'),)
    assert messages[-1]['content'] == '{"result": "4 is above 2"}'


def test_what_is_no_call_is_told_so_and_costs_a_step() -> None:
    peer = ScriptedPeer(ChatReply((), 'Yes, it is.'), ChatReply((('fly', '{"to": "roof"}'),), ''),
                        ChatReply((('compare', '{"value": 4,'),), ''), ChatReply((END,), ''))
    result, = _run(peer)
    assert [step.tool for step in result.steps] == [NO_CALL, 'fly', 'compare', FINISH]
    assert result.steps[0].arguments == '{"text": "Yes, it is."}'
    assert UNREADABLE in result.steps[2].arguments
    assert peer.asked[1][-1] == {
        'role': 'user', 'content': 'That is no call. Answer with a function call.'}
    assert "there is no tool 'fly'" in peer.asked[2][-1]['content']
    assert 'error' in peer.asked[3][-1]['content']


@pytest.mark.parametrize('text, names', [
    ('<tool_call>\n{"name": "a", "arguments": {"x": {"y": 1}}}\n</tool_call>', ['a']),
    ('{"name": "a", "arguments": {}} and {"name": "b", "arguments": {}}', ['a', 'b']),
    ('I would call {a} or {"name": "b"} here', []),
    ('<tool_call>{"name": "a", "arguments": {"x": 1}', []),
])
def test_calls_are_found_in_text(text: str, names: list[str]) -> None:
    assert [name for name, _ in calls_in_text(text)] == names


def test_a_template_gets_arguments_as_an_object() -> None:
    message = Wording(Calls.TEXT).calls([COMPARED], '', ['id'])
    assert message['tool_calls'][0]['function']['arguments'] == {'value': 4, 'limit': 2}


def test_peers_have_at_least_four_configurations_that_differ() -> None:
    for peer, known in CONFIGURATIONS.items():
        different = {(c.calls, c.max_tokens, c.text_too, str(c.request), str(c.program))
                     for c in known.values()}
        assert len(different) == len(known) >= 4
        with pytest.raises(ConfigError, match=f'{peer} has default, '):
            configuration(peer, 'turbo')


def test_llama_cpp_python_answers_by_the_schema_and_keeps_what_it_read(tmp_path: Path) -> None:
    path = tmp_path / 'tiny.gguf'
    write_tiny_model(path, 'full')
    config = EngineConfig(str(path), context_tokens=1024, threads=1, gpu_layers=0)
    tool = ToolSchema('look', 'Look.', {
        'type': 'object', 'properties': {'way': {'enum': ['up', 'down']}}, 'required': ['way']})
    peer = start_peer(LLAMA_CPP_PYTHON, configuration(LLAMA_CPP_PYTHON, 'json_schema'), config)
    try:
        wording = Wording(Calls.SCHEMA)
        messages = [*wording.beginning('Obey.', [tool], []), {'role': 'user', 'content': 'Up!'}]
        first = peer.answer(messages, [tool])
        call, = read_calls(first)
        assert call.name == 'look' and call.arguments['way'] in ('up', 'down')
        messages += [wording.calls(first.calls, first.text, ['1']),
                     {'role': 'user', 'content': 'Go on.'}]
        second = peer.answer(messages, [tool])
        assert first.cached == 0 and first.prefill > 100 > second.prefill
        assert second.cached >= first.prefill
        with pytest.raises(ContextFull):
            peer.answer([{'role': 'user', 'content': 'x' * 2000}], [tool])
    finally:
        peer.close()


_SERVER = """#!{python}
import http.server, json, sys
port = int(sys.argv[sys.argv.index('--port') + 1])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(200, {{}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        text = asked['messages'][-1]['content']
        if text == 'mumble':
            return self.reply(500, {{'error': {{'message': 'cannot be parsed'}}}})
        if text == 'long':
            return self.reply(400, {{'error': {{'type': 'exceed_context_size_error'}}}})
        echo = json.dumps({{'asked': asked, 'options': sys.argv[1:]}})
        self.reply(200, {{'choices': [{{'message': {{'content': None, 'tool_calls': [
            {{'function': {{'name': 'echo', 'arguments': echo}}}}]}}}}],
            'timings': {{'prompt_n': 7, 'cache_n': 5, 'predicted_n': 3}}}})
    def reply(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
http.server.HTTPServer(('127.0.0.1', port), Handler).serve_forever()
"""


def test_llama_server_is_asked_as_its_configuration_says(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that takes llama-server's command line and tells what it was asked."""
    program = tmp_path / 'llama-server'
    program.write_text(_SERVER.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv('LLAMA_SERVER', str(program))
    config = EngineConfig('model.gguf', context_tokens=512, threads=1)
    peer = start_peer(LLAMA_SERVER, configuration(LLAMA_SERVER, 'parallel_off'), config)
    try:
        reply = peer.answer([{'role': 'user', 'content': 'hello'}], TOOLS)
        (name, text), = reply.calls
        assert (name, reply.prefill, reply.cached, reply.generated) == ('echo', 7, 5, 3)
        echo = json.loads(text)
        assert '--jinja' in echo['options'] and 'model.gguf' in echo['options']
        asked = echo['asked']
        assert asked['parallel_tool_calls'] is False and asked['tool_choice'] == 'required'
        assert [t['function']['name'] for t in asked['tools']] == [t.name for t in TOOLS]
        assert read_calls(peer.answer([{'role': 'user', 'content': 'mumble'}], TOOLS)) == [
            ToolCall(NO_CALL, {'text': 'cannot be parsed'})]
        with pytest.raises(ContextFull):
            peer.answer([{'role': 'user', 'content': 'long'}], TOOLS)
    finally:
        peer.close()


class _Obedient(ScriptedPeer):
    """Ends every goal at once, the way that the no_call missions want it, or only talks."""

    def __init__(self, talks: bool) -> None:
        super().__init__()
        self._talks = talks

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ChatReply:
        """Return the one answer."""
        if self._talks:
            return ChatReply((), 'You are welcome.', prefill=2)
        return ChatReply(((FINISH, '{"success": true, "summary": "You are welcome."}'),), '',
                         prefill=2)


def test_missions_run_with_the_configuration_that_is_best(
        tiny_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    started = []

    def start(peer: str, chosen: PeerConfiguration, config: EngineConfig) -> ChatPeer:
        started.append((peer, chosen.name))
        assert config.model_path == tiny_model and config.threads == 1
        return _Obedient(talks=chosen.name != 'limit_1024')

    monkeypatch.setattr(planner_module, 'start_peer', start)
    out = tmp_path / 'out'
    # Eight: the first of each kind up to no_call, which is what the peer can do.
    command = ['--model', tiny_model, '--threads', '1', '--missions', 'thanks', '--worlds', '1',
               '--peer-tuning', '8', '--config', str(CONFIG)]
    assert main([*command, '--peer', LLAMA_SERVER, '--out', str(out)]) == 0
    assert {name for _, name in started} == set(CONFIGURATIONS[LLAMA_SERVER])
    assert started[-1] == (LLAMA_SERVER, 'limit_1024')
    assert 'best: limit_1024' in capsys.readouterr().out
    report = json.loads((out / 'report.json').read_text())
    assert report['scores']['success']['count'] == len(report['cases']) == 2
    assert report['meta']['way'].startswith('llama_server, limit_1024: ')
    talk = out / 'tuning' / 'default' / 'report.json'
    assert json.loads(talk.read_text())['scores']['invalid_calls'] > 8
    # What was run is not run again, and another configuration's rows are not taken for it.
    del started[:]
    assert main([*command, '--peer', LLAMA_SERVER, '--out', str(out)]) == 0 and not started
    assert main([*command, '--peer', LLAMA_SERVER, '--peer-config', 'default', '--out',
                 str(out)]) == 2
    assert main([*command, '--peer', LLAMA_SERVER, '--peer-config', 'default', '--out',
                 str(tmp_path / 'talk')]) == 0
    capsys.readouterr()
    assert main(['--table', str(out / 'report.json'), str(tmp_path / 'talk/report.json')]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '2 cases that all reports have'
    assert '100.0% (2 of 2)' in lines[4] and '0.0% (0 of 2)' in lines[5]
