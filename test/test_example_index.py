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

"""Which examples are like a goal."""

from edge_llm_ros.prompt.example_index import ExampleIndex
from hypothesis import given, strategies as st

GOALS = ['Bring it back to the lab.', 'And the same in the gym.', 'Is that more than 40?',
         '把它放回实验室。', '那健身房呢？']
NAMES = {'lab': ('laboratory', '实验室'), 'gym': ('健身房',)}


def test_the_nearest_is_last() -> None:
    index = ExampleIndex(GOALS, NAMES)
    assert index.nearest('Do the same again.', 1) == [1]
    assert index.nearest('Bring the cup back to the place where it was the same day.', 2) == [1, 0]
    assert index.nearest('把杯子放回去。', 1) == [3]


def test_places_and_numbers_are_alike() -> None:
    index = ExampleIndex(GOALS, NAMES)
    assert index.nearest('Gym?', 1) == index.nearest('Laboratory?', 1)
    assert index.nearest('7 then', 1) == [2]
    assert index.nearest('健身房', 3) == index.nearest('实验室', 3)


def test_what_has_nothing_of_a_goal_is_not_shown() -> None:
    assert ExampleIndex(GOALS, NAMES).nearest('zzz', 3) == []
    assert ExampleIndex([], {}).nearest('anything', 3) == []


@given(st.lists(st.text(max_size=20), max_size=6), st.text(max_size=20), st.integers(0, 8))
def test_it_takes_any_text(goals: list[str], goal: str, count: int) -> None:
    found = ExampleIndex(goals, NAMES).nearest(goal, count)
    assert len(found) == len(set(found)) <= min(count, len(goals))


@given(st.lists(st.text('ab 中?', min_size=1, max_size=12), min_size=1, max_size=6), st.data())
def test_a_goal_is_nearest_to_itself(goals: list[str], data: st.DataObject) -> None:
    goal = data.draw(st.sampled_from(goals))
    found = ExampleIndex(goals, {}).nearest(goal, len(goals))
    if found:  # else it has no word
        best = goals[found[-1]]
        again = ExampleIndex(goals, {}).nearest(best, len(goals))
        assert again[-1] == found[-1]
