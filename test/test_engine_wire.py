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

"""Messages survive their way through a pipe, and what is none is refused in words."""

from array import array

from edge_llm_ros.engine import messages
from edge_llm_ros.engine.wire import encode, MAX_BYTES, Unframer, WireError
from edge_llm_ros.flow.engine import (
    Completion, EngineConfig, GenerateRequest, MemoryKind, ModelInfo, PrefillProgress, Sampling,
    SpecialToken, Stop, TokenKind, TokensProgress)
from hypothesis import given, strategies as st
import pytest

TOKENS = st.lists(st.integers(-2**31, 2**31 - 1), max_size=50).map(tuple)
TEXT = st.text(max_size=50)
INFO = ModelInfo('p', 'n', 'a', 'd', 1, 2, 3, 4, True, '<s>', '</s>', '{{ template }}',
                 (SpecialToken(7, '<|im_end|>', TokenKind.END),), memory=MemoryKind.HYBRID)
MESSAGES = st.one_of(
    st.builds(GenerateRequest, id=TEXT, session=TEXT, tokens=TOKENS, grammar=TEXT,
              max_tokens=st.integers(0, 9), script=TOKENS,
              sampling=st.builds(Sampling, temperature=st.floats(0, 2))),
    st.builds(Completion, stop=st.sampled_from(Stop), tokens=TOKENS, origins=TEXT,
              cached=st.integers(0, 9), prefill=st.just(1), decode_calls=st.just(2),
              first_token=st.floats(0, 9), seconds=st.just(1), lost=TEXT),
    st.builds(messages.Load, st.builds(EngineConfig, model_path=TEXT), st.just(20), st.booleans()),
    st.builds(messages.Pieces, TOKENS, st.binary(max_size=50)),
    st.builds(messages.Costs, TOKENS, st.lists(st.floats(0, 1), max_size=6).map(tuple)),
    st.builds(messages.Tokenize, TEXT, st.booleans()), st.builds(TokensProgress, TOKENS),
    st.sampled_from([messages.Done(), messages.Loaded(INFO), PrefillProgress(3, 4, True),
                     messages.Close(), messages.Failed('EngineError', 'why')]))


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), MESSAGES), max_size=5),
       st.integers(1, 40))
def test_what_arrives_is_what_was_sent(sent: list, size: int) -> None:
    data = b''.join(encode(call, message) for call, message in sent)
    unframer = Unframer()
    arrived = [pair for at in range(0, len(data), size) for pair in unframer.feed(
        data[at:at + size])]
    assert arrived == sent
    assert [type(m) for _, m in arrived] == [type(m) for _, m in sent]


@given(MESSAGES, st.data())
def test_damage_is_a_wire_error_or_another_message(message: object, data: st.DataObject) -> None:
    frame = bytearray(encode(1, message))
    for _ in range(data.draw(st.integers(1, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        for _, arrived in Unframer().feed(bytes(frame)):
            assert arrived is not None
    except WireError as error:
        assert 'frame' in str(error)


@given(st.binary(max_size=200))
def test_noise_is_a_wire_error_or_half_a_frame(noise: bytes) -> None:
    try:
        list(Unframer().feed(noise))
    except WireError:
        pass


@pytest.mark.parametrize('call, reason', [
    (lambda: encode(0, TokensProgress((2**31,))), 'no number of 32 bits'),
    (lambda: encode(0, TokensProgress(('a',))), 'no number of 32 bits'),
    (lambda: encode(0, messages.Tokenize('a' * (MAX_BYTES + 1), False)), 'at most')])
def test_what_cannot_be_sent_is_refused(call: object, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        call()


def test_a_length_that_no_frame_has_is_refused_before_it_is_there() -> None:
    header = bytearray(encode(0, messages.Done())[:13])
    header[0:4] = array('I', [MAX_BYTES + 1]).tobytes()
    with pytest.raises(WireError, match='is none of this version'):
        list(Unframer().feed(bytes(header)))


def test_tokens_of_a_request_travel_as_bytes() -> None:
    grammar = 'start: "a"\n' * 500
    request = GenerateRequest('call 1', 'session a', tuple(range(8000)), grammar, 96,
                              biased=(1, 2), bias=(0.5, -1.0))
    frame = encode(1, request)
    assert list(Unframer().feed(frame)) == [(1, request)]
    assert len(frame) < 4 * 8002 + 1.5 * len(grammar) + 400
