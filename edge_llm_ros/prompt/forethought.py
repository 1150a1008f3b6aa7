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

"""What the model writes before its call, in the same turn: a thought, a judgement, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
import re

from edge_llm_ros.flow.engine import ModelInfo
from edge_llm_ros.flow.forethought import ForethoughtSettings, Judgement, Occasion, Reasoning
from edge_llm_ros.flow.tool import ASK_PERSON, FINISH, ToolSchema
from edge_llm_ros.prompt.call_grammar import Branch, literal
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.prompt.pieces import Data, Markup, Piece
from edge_llm_ros.prompt.words import Words

MOST_SUB_GOALS = 6
_LINE_TOKENS = 20  # of a sub-goal
_LINE_LENGTH = 60  # characters of it
_FRAME_TOKENS = 10  # of a line beside its text
_THINK = '<think>'
# A text ends where a call begins, so it has neither of the characters that one begins with.
_IN_A_LINE, _IN_LINES = r'[^\n{<]', '[^{<]'


class Forethought:
    """
    Writes the grammar of what stands before a call, and the same of examples.

    What the model writes there stays in the conversation, as all that it writes does.

    :param info: the model; thoughts are between its own tags where its template has them
    :param tools: whose groups can be chosen
    """

    def __init__(self, settings: ForethoughtSettings, words: Words, info: ModelInfo,
                 tools: Sequence[ToolSchema] = ()) -> None:
        self.settings = settings
        self._tools = tools
        self._words = words
        self._special = info.special_tokens
        self._native = _THINK in info.chat_template

    def explained(self) -> str:
        """Return what the system message says of it; empty where all is off."""
        settings, words = self.settings, self._words
        names = {group: ', '.join(t.name for t in self._tools if t.group == group)
                 for group in groups_of(self._tools)}
        groups = '; '.join(f'{group} ({listed})' for group, listed in names.items())
        return ''.join(f'\n{text}' for on, text in (
            (settings.thinks, words.thought_explained), (settings.triage, words.triage_explained),
            (settings.route, words.route_explained.format(groups=groups)),
            (settings.plan, words.plan_explained)) if on)

    def tokens(self, reasoning_tokens: int) -> int:
        """Return how many tokens it can have at most."""
        settings, line = self.settings, _LINE_TOKENS + _FRAME_TOKENS
        tokens = reasoning_tokens + 2 * _FRAME_TOKENS if settings.thinks else 0
        if settings.route:
            # No token is shorter than a byte.
            tokens += max(len(self._route(group).encode())
                          for group in ('', *groups_of(self._tools)))
        return tokens + line * settings.triage + line * (MOST_SUB_GOALS + 1) * settings.plan

    def branches(self, tools: Sequence[ToolSchema], occasion: Occasion, reasoning_tokens: int
                 ) -> tuple[list[Branch], list[str]]:
        """
        Return what can be written before which calls, and the rules that this needs.

        :param tools: that may be called
        :param reasoning_tokens: of a thought at most
        """
        before, plan, rules = [], [], []
        if self.settings.thinks:
            opening, closing = self._thought_frame()
            before += [self._literal(opening), 'thought', self._literal(closing)]
            free = self.settings.reasoning is Reasoning.FREE
            # Without tags, an empty line ends what may have several lines.
            stop = ', stop="\\n\\n"' if free and not self._native else ''
            rules.append(f'thought[max_tokens={reasoning_tokens}{stop}]: '
                         f'/{_IN_LINES if free else _IN_A_LINE}+/')
        if self.settings.plan and occasion is not Occasion.NEXT:
            plan = ['plan']
            rules += self._plan_rules()
        judgements = self._judgements(tools) if occasion is Occasion.FIRST else {}
        if len(judgements) < 2:
            return list(self._routed(before, tools, plan, occasion)), rules
        branches: list[Branch] = []
        for judgement, left in judgements.items():
            judged = [*before, self._literal(self._judged(judgement))]
            branches += self._routed(judged, left, plan, occasion) if (
                judgement is Judgement.CAN_DO) else [Branch(' '.join(judged), left)]
        return branches, rules

    def _literal(self, text: str) -> str:
        return literal(text, self._special)

    def _thought_frame(self) -> tuple[str, str]:
        """Return the markup around a thought; several lines bring the breaks after them."""
        end = '' if self.settings.reasoning is Reasoning.FREE else '\n'
        if self._native:
            return '<think>\n', f'{end}</think>\n\n'
        return self._words.thought_opening, end

    def _routed(self, before: Sequence[str], tools: Sequence[ToolSchema], plan: Sequence[str],
                occasion: Occasion) -> Iterator[Branch]:
        """Yield a branch for each group of tools that can be chosen, and one for all."""
        groups = groups_of(tools)
        if not self.settings.route or occasion is not Occasion.FIRST or len(groups) < 2:
            yield Branch(' '.join([*before, *plan]), tools)
            return
        for group in (*groups, ''):
            line = self._literal(self._route(group))
            yield Branch(' '.join([*before, line, *plan]), [
                t for t in tools if not group or t.group in ('', group)])

    def _route(self, group: str) -> str:
        return f'{self._words.route_opening}{group or self._words.route_all}\n'

    def chosen(self, before: str) -> frozenset[str] | None:
        """
        Return the tools that the model chose for a goal; None for all.

        :param before: what it wrote before its first call
        """
        if not self.settings.route:
            return None
        found = re.search(rf'^{re.escape(self._words.route_opening)}(.*)$',
                          self._after_thought(before), re.MULTILINE)
        group = found[1] if found else ''
        if group not in groups_of(self._tools):
            return None
        return frozenset(t.name for t in self._tools if t.group in ('', group))

    def _after_thought(self, before: str) -> str:
        if not self.settings.thinks:
            return before
        end = '</think>' if self._native else (
            '\n\n' if self.settings.reasoning is Reasoning.FREE else '\n')
        return before.partition(end)[2]

    def _plan_rules(self) -> list[str]:
        more = ''
        for number in range(MOST_SUB_GOALS, 1, -1):
            more = f' ( {self._literal(f"{number}. ")} sub_goal {self._literal(_BREAK)}{more} )?'
        first = self._literal(f'{self._words.plan_opening}\n1. ')
        return [f'plan: {first} sub_goal {self._literal(_BREAK)}{more}',
                f'sub_goal[max_tokens={_LINE_TOKENS}]: /{_IN_A_LINE}{{1,{_LINE_LENGTH}}}/']

    def _judged(self, judgement: Judgement) -> str:
        return f'{self._words.triage_opening}{self._words.labels.of(judgement)}\n'

    def _judgements(self, tools: Sequence[ToolSchema]) -> dict[Judgement, Sequence[ToolSchema]]:
        """Return the judgements after which there is a call, each with what may be called."""
        if not self.settings.triage:
            return {}
        finish = [tool for tool in tools if tool.name == FINISH]
        no = [_only_no(tool) for tool in finish]
        ask = [tool for tool in tools if tool.name == ASK_PERSON]
        left = {Judgement.CAN_DO: tools, Judgement.NO_CALL_NEEDED: finish,
                Judgement.MISSING_INFORMATION: [*ask, *no], Judgement.IMPOSSIBLE: no,
                Judgement.UNSAFE: no}
        return {judgement: callable_ for judgement, callable_ in left.items() if callable_}

    def shown(self, example: Example) -> Example:
        """Return an example with what the model would have written before its calls."""
        return replace(example, before=tuple(
            self._shown(example, index) for index in range(len(example.steps))))

    def _shown(self, example: Example, index: int) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        if self.settings.thinks:
            opening, closing = self._thought_frame()
            if self.settings.reasoning is Reasoning.FREE:
                closing = f'\n{closing}' if self._native else '\n\n'
            pieces += [Markup(opening), Data(example.thoughts[index]), Markup(closing)]
        text = ''
        acts = index == 0 and (
            not self.settings.triage or example.judgement is Judgement.CAN_DO)
        if self.settings.triage and index == 0:
            text += self._judged(example.judgement)
        if self.settings.route and acts:
            text += self._route(self._needed(example))
        if self.settings.plan and acts:
            lines = ''.join(f'{n}. {line}\n' for n, line in enumerate(example.plan, 1))
            text += f'{self._words.plan_opening}\n{lines}'
        return (*pieces, Data(text)) if text else tuple(pieces)

    def _needed(self, example: Example) -> str:
        """Return the only group whose tools an example calls; empty where there is none."""
        called = {call.name for call, _ in example.steps}
        groups = {tool.group for tool in self._tools if tool.name in called and tool.group}
        return groups.pop() if len(groups) == 1 else ''


_BREAK = '\n'


def groups_of(tools: Sequence[ToolSchema]) -> list[str]:
    """Return the groups of tools, in the order of the prompt."""
    return list(dict.fromkeys(tool.group for tool in tools if tool.group))


def _only_no(finish: ToolSchema) -> ToolSchema:
    """Return the tool that ends a goal, for goals that are not reached."""
    properties = finish.parameters['properties']
    return replace(finish, parameters={**finish.parameters, 'properties': {
        **properties, 'success': {'const': False}}})
