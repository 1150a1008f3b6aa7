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

"""Follows tokens through a grammar; a helper of tests."""

from collections.abc import Sequence

from edge_llm_ros.engine.local import LocalEngine


def follow(engine: LocalEngine, grammar: str, tokens: Sequence[int], what: object = '') -> int:
    """
    Go through a grammar by its forced tokens, and by given ones where there is a choice.

    Each forced run has to be what stands in the tokens at its place.

    :param what: is told where one is not
    :returns: how many tokens were choices
    """
    matcher, done, choices = engine._compiler.matcher(grammar), [], 0
    while not matcher.complete:
        forced = matcher.forced()
        if not forced:
            forced = [tokens[len(done)]]
            matcher.consume(forced)
            choices += 1
        done += forced
        assert done == list(tokens[:len(done)]), (
            'a forced run is not canonical', what, engine.detokenize(done))
    assert done == list(tokens)
    return choices
