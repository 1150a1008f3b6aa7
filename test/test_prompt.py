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
"""Messages to tokens: data stays data, frames are the model's own, history only grows."""

import json
from pathlib import Path

from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.tool import ToolCall, ToolSchema
from edge_llm_ros.prompt.call_text import free_text_tokens, without_frame
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.prompt.dynamic_text import dynamic_prefix
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.pieces import Data, Markup, PieceTokenizer
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.prompt.template_renderer import render
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.schema import tool_schema
from forced_tokens import follow
from gguf_rename import copy_with
from hypothesis import given, HealthCheck, settings, strategies as st
import pytest

GO = ToolSchema(
    'go', 'Drive.', {
        'type': 'object', 'properties': {'place': {'type': 'string', 'enum': ['lab', '厨房']}},
        'required': ['place']
    })
SAY = ToolSchema(
    'say', 'Speak.', {
        'type': 'object', 'properties': {
            'text': {'type': 'string', 'maxLength': 60}, 'loud':
            {'type': 'boolean', 'default': False}
        }, 'required': ['text']
    })
CALLS = [
    ToolCall('go', {'place': 'lab'}),
    ToolCall('go', {'place': '厨房'}),
    ToolCall('say', {'text': 'Lunch "is" ready\\now: </tool_call>'}),
    ToolCall('say', {'text': '你好', 'loud': True})
]
EXAMPLE = Example('Speak in the lab.', ((CALLS[0], '{"message": "arrived"}'), (CALLS[3], '')))
PROMPT_FOR_CALL = '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
MODELS = ('test_model', 'demo_model', 'llama3_model')


@pytest.fixture(scope='module')
def engines(test_model: str, demo_model: str, llama3_model: str):
    """Return an engine for each vocabulary."""
    paths = dict(zip(MODELS, (test_model, demo_model, llama3_model)))
    engines = {
        name: LocalEngine(EngineConfig(model_path=path, context_tokens=2048, max_sessions=2))
        for name, path in paths.items()
    }
    yield engines
    for engine in engines.values():
        engine.close()


def _pieces(engine: LocalEngine) -> PieceTokenizer:
    return PieceTokenizer(engine, engine.info().special_tokens)


@pytest.mark.parametrize('model', MODELS)
def test_no_role_token_comes_out_of_data(engines, model: str) -> None:
    engine = engines[model]
    special = engine.info().special_tokens
    ids, pieces = {t.id for t in special}, _pieces(engine)
    assert len(special) >= 16
    for token in special:
        for text in (token.text, f'a{token.text}b', token.text * 2, f'{token.text}\n{token.text}',
                     f'  {token.text[:-1]}{token.text}'):
            tokens = pieces.tokens([Data(text)])
            assert not ids & set(tokens), f'{text!r} became {tokens}'
            assert engine.detokenize(tokens).decode() == text, 'the text itself is not changed'
        assert token.id in pieces.tokens([Markup(token.text)])


@settings(max_examples=200,
          deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.text(max_size=8), st.integers(0, 200)), max_size=6))
def test_no_mixture_of_texts_makes_a_role_token(engines, parts) -> None:
    for name, engine in engines.items():
        special = engine.info().special_tokens
        texts = [special[p % len(special)].text if isinstance(p, int) else p for p in parts]
        text = ''.join(texts)
        tokens = _pieces(engine).tokens([Data(text)])
        assert not {t.id for t in special} & set(tokens)
        if name == 'demo_model':  # the other vocabulary lacks some bytes
            assert engine.detokenize(tokens).decode() == text.replace('\0', '\ufffd')


def _format(engines, name: str):
    model = {'chatml': 'demo_model', 'llama3': 'llama3_model', 'json': 'test_model'}[name]
    engine = engines[model]
    form = chat_format('json' if name == 'json' else 'auto', engine.info())
    assert form.name == name
    return engine, form


@pytest.mark.parametrize('name', ['chatml', 'llama3', 'json'])
@pytest.mark.parametrize('call', CALLS, ids=str)
def test_the_grammar_takes_every_canonical_call(engines, name: str, call: ToolCall) -> None:
    """The canonical tokens of a call are in the grammar, and what it forces equals them."""
    engine, form = _format(engines, name)
    form.prefix('You are a robot.', [GO, SAY], [EXAMPLE])
    tokens = list(_pieces(engine).tokens(form.call(call)))
    follow(engine, form.grammar([GO, SAY], 60), tokens, call)
    text = engine.detokenize(tokens).decode()
    assert form.parse(text) == call


@pytest.mark.parametrize('name', ['chatml', 'llama3', 'json'])
def test_a_prefix_is_the_same_every_time_and_grows(engines, name: str) -> None:
    engine, form = _format(engines, name)
    pieces = _pieces(engine)
    prefix = [
        pieces.tokens(form.prefix('You are a robot.', [GO, SAY], [EXAMPLE])) for _ in range(2)
    ]
    assert prefix[0] == prefix[1]
    text = engine.detokenize(prefix[0]).decode()
    for part in ('You are a robot.', json.dumps('Speak.'), '厨房', 'Speak in the lab.', 'arrived'):
        assert part in text


@pytest.mark.parametrize('name', ['chatml', 'llama3', 'json'])
def test_a_conversation_is_what_the_model_s_own_template_writes(engines, name: str) -> None:
    """The frames of the built-in formats are those of the file's template, rendered in one go."""
    engine, form = _format(engines, name)
    pieces = _pieces(engine)
    form.prefix('S', [GO], [])
    call = form.call(CALLS[0])
    ours = [
        *form.instruction('One', False), *form.call_prompt(), *call,
        *form.instruction('Two', False)
    ]
    text = ''.join(p.text for p in ours)
    answer = ''.join(p.text for p in call[:-1] if name != 'chatml') or ''.join(
        p.text for p in call).removesuffix('<|im_end|>')
    info = engine.info()
    whole, = render(info.chat_template, [{
        'messages': [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': 'One'},
                     {'role': 'assistant', 'content': answer}, {'role': 'user', 'content': 'Two'}]
    }],
                    bos_text=info.bos_text,
                    eos_text=info.eos_text)
    assert text.strip('\n') in whole
    assert pieces.tokens(ours)


def test_a_model_without_a_format_gets_a_list_of_them(test_model: str, tmp_path) -> None:
    path = str(tmp_path / 'other.gguf')
    copy_with(
        test_model, path, {},
        "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}{% endfor %}"
        '{% if add_generation_prompt %}[assistant] {% endif %}')
    engine = LocalEngine(EngineConfig(model_path=path, context_tokens=512))
    try:
        with pytest.raises(ConfigError, match='auto, chatml, llama3, json'):
            chat_format('auto', engine.info())
        with pytest.raises(ConfigError, match='no end-of-generation token'):
            chat_format('json', engine.info())
    finally:
        engine.close()


@pytest.mark.parametrize(
    'template, reason',
    [
        # drops what was answered before, as templates do with thoughts
        ('{% for m in messages %}<|im_start|>{{ m.role }}\n'
         "{% if loop.last or m.role == 'user' %}{{ m.content }}"
         '{% endif %}<|im_end|>\n{% endfor %}' + PROMPT_FOR_CALL,
         'changes, repeats or drops message'),
        # counts the messages at the top
        ('{{ messages | length }}{% for m in messages %}<|im_start|>{{ m.role }}\n'
         '{{ m.content }}<|im_end|>\n'
         '{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}',
         'changes, repeats or drops message'),
        ('{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}',
         'cannot be rendered'),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", 'cannot be rendered'),
        ('{% if %}', 'cannot be rendered')
    ])
def test_templates_that_cannot_be_used_are_refused(engines, template: str, reason: str,
                                                   monkeypatch) -> None:
    import dataclasses
    from edge_llm_ros.prompt import template_format
    monkeypatch.setattr(template_format, 'render',
                        lambda *a, **k: render(*a, **{**k, 'seconds': 2.0}))
    info = dataclasses.replace(engines['test_model'].info(), chat_template=template)
    with pytest.raises(ConfigError, match=reason):
        chat_format('json', info)


def test_a_template_without_a_system_role_is_used_all_the_same(engines) -> None:
    import dataclasses
    engine = engines['test_model']
    template = (
        "{% for m in messages %}{% if m.role == 'system' %}"
        "{{ raise_exception('System role not supported') }}"
        '{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}'
        '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}')
    form = chat_format('json', dataclasses.replace(engine.info(), chat_template=template))
    for examples in ([], [EXAMPLE]):
        text = ''.join(p.text for p in form.prefix('Be kind.', [GO, SAY], examples))
        assert text.startswith('<|im_start|>user\nBe kind.')
        rest = ''.join(p.text for p in form.instruction('Go.', True))
        assert rest == 'Go.<|im_end|>\n'
    assert ''.join(p.text for p in form.call_prompt()) == '<|im_start|>assistant\n'


def test_frame_and_free_text_are_told_apart() -> None:
    frame = ('<tool_call>', '</tool_call><|im_end|>')
    pieces = [
        b'<tool_call>', b'\n{"name": "say", "arguments": {"', b'text', b'": "', b'Hi', b' "',
        b'}}\n', b'</tool_call>', b'<|im_end|>'
    ]
    pieces[5] = b' there"'
    inside, in_text = free_text_tokens(pieces, frame, SAY, ToolCall('say', {'text': 'Hi there'}))
    assert inside == [False, True, True, True, True, True, True, False, False]
    assert in_text == [False, False, False, False, True, True, False, False, False]
    assert without_frame('<tool_call>\n{"name"', frame) == '{"name"'
    assert without_frame('<tool_call>\n{"a": 1}\n</tool_c', frame) == '{"a": 1}'


@pytest.mark.parametrize('text, what', [
    ('Today is 2026-11-29.', 'a date'), ('今天是2026年11月', 'a date'),
    ('It is 14:35 now.', 'a time of day'),
    ('Robot 6f1c2a90-1d2e-4f3a-9b8c-0123456789ab', 'a UUID'),
    ('started at 1795964582.96', 'a time stamp'),
    ('session 3fa85f64571b', 'a random id'), ('Boot counter: 17', 'a counter'),
    ('This is run 4711.', 'a counter'), ('You are robot #42.', 'a counter'),
    ('Hello {{ user }}', 'a template'),
    ('Carry at most 12 kg, at 0.3 m/s, to room 204.', ''),
    ('Drive to the dock; ratio 3:2 is fine.', '')])
def test_text_that_looks_dynamic_is_named(text: str, what: str) -> None:
    warnings = dynamic_prefix('', [ToolSchema('go', text, {})], [])
    assert [what in w and 'the description of go' in w
            for w in warnings] == ([True] if what else [])


def test_the_prompt_that_ships_looks_static() -> None:
    config = Path(__file__).resolve().parent.parent / 'config'
    prompt = read_file(str(config / 'prompt.yaml'), PromptFile)
    loaded = load_tools([str(config / 'simulated_robot.yaml')])
    schemas = [tool_schema(name, tool) for name, tool in loaded.tools.items()]
    examples = [Example(e.instruction, ()) for e in prompt.examples]
    assert dynamic_prefix(prompt.system, schemas, examples) == []
