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

"""The parameters of the planner: one table that describes and bounds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edge_llm_ros.flow.engine import CACHE_TYPES
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.forethought import Reasoning
from edge_llm_ros.flow.goal import FinishCheckMode
from edge_llm_ros.prompt.formats import NAMES


class Parameters(Protocol):
    """Values by name."""

    def __getitem__(self, name: str) -> Any: ...


@dataclass(frozen=True)
class PlannerParameter:
    """
    One parameter.

    :param live: whether a change counts for the next goal; else for the next configure
    :param bounds: inclusive; for numbers
    :param choices: for texts
    """

    name: str
    default: Any
    description: str
    live: bool = False
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()

    def problem(self, value: Any) -> str:
        """Return what is wrong with a value, in words; empty if nothing is."""
        kind = type(self.default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if kind is list:
            if not isinstance(value, (list, tuple)) or any(not isinstance(v, str) for v in value):
                return f'{self.name}: a list of texts is needed, not {value!r}'
        elif not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
            return f'{self.name}: a {kind.__name__} is needed, not {value!r}'
        if self.choices and value not in self.choices:
            return f'{self.name}: one of {", ".join(self.choices)} is needed, not {value!r}'
        if self.bounds is not None and not self.bounds[0] <= value <= self.bounds[1]:
            return f'{self.name}: {value!r} is not in {self.bounds[0]:g} … {self.bounds[1]:g}'
        return ''


P = PlannerParameter
OFF, PLAN_SHORT = 'off', 'short'
CALLS, PROGRAMS = ACT_BY = ('calls', 'programs')
GOAL_POLICIES = ('queue', 'reject', 'preempt')
PARAMETERS: Sequence[PlannerParameter] = (
    P('autostart', False, 'Configure and activate by itself when it starts.'),
    P('model_path', '', 'GGUF file of the model.'),
    P('engine_process', True, 'The model runs in a process of its own: if that ends, the running '
      'goal ends ENGINE_ERROR, and the next one starts it again. False: in the node.'),
    P('chat_format', 'auto', 'How messages are framed; auto asks the model file.', choices=NAMES),
    P('tool_files', [''], 'YAML files of the tools, merged in order.'),
    P('prompt_file', '', 'YAML file of the system prompt and the examples.'),
    P('act_by', 'calls', 'What the model writes: one call a turn, or a program of several calls '
      'with conditions and loops, which is run call by call. Each needs its own prompt_file.',
      choices=ACT_BY),
    P('goal_reminder', False, 'Whether each result is followed by the goal and what was done '
      'for it.'),
    P('triage', False, 'Whether the model first judges a goal; where it finds it impossible, '
      'unsafe or incomplete it can only ask or say no.'),
    P('route', False, 'Whether the model first says which group of tools a goal needs (group in '
      'the tool files); it then has no others, until a call fails.'),
    P('plan', OFF, 'Whether the model writes a few sub-goals before it acts (short), and again '
      'after a call that failed.', choices=(OFF, PLAN_SHORT)),
    P('reasoning', OFF, 'Whether the model thinks before each call: a line (short), or several '
      '(free).', choices=tuple(r.value for r in Reasoning)),
    P('journal_folder', '', 'Remembers what goes on on the robot, so that it is stopped should '
      'the planner die; empty: edge_llm_ros in ROS_HOME or ~/.ros.'),
    P('notes_file', '', 'Keeps what the robot was told to remember (builtins.notes of a tool '
      'file) across restarts; empty: it is forgotten at clean-up.'),
    P('bond', False, "While active, keep the bond by which Nav2's lifecycle manager notices that "
      'a node died; needs the ROS package bondpy.'),
    P('context_tokens', 8192, 'KV cells for all sessions together.', bounds=(256, 1 << 20)),
    P('max_sessions', 8, 'Sessions kept in the KV cache.', bounds=(1, 253)),
    P('batch_tokens', 512, 'Tokens of one llama_decode at most.', bounds=(16, 4096)),
    P('chunk_seconds',
      0.2,
      'A prefill chunk adapts to take about this long [s]; four times as long without a GPU, '
      'where it can be aborted.',
      bounds=(0.02, 5.0)),
    P('threads', 0, 'Threads of decode; 0 leaves cores to the robot.', bounds=(0, 256)),
    P('batch_threads', 0, 'Threads of prefill; 0: as threads.', bounds=(0, 256)),
    P('cpu_affinity', '', 'Cores of the threads that evaluate, as in 0-3,6; empty: all.'),
    P('niceness', 0, 'Of the threads that evaluate; more gives way more.', bounds=(0, 19)),
    P('gpu_layers', -1, 'Layers on the GPU; -1: all.', bounds=(-1, 1024)),
    P('cache_type_k', 'f16', 'Type of the keys in the KV cache.', choices=CACHE_TYPES),
    P('cache_type_v', 'f16', 'Type of the values in the KV cache; that of the keys.',
      choices=CACHE_TYPES),
    P('flash_attention', 'auto', 'Quantized values turn it on.', choices=('auto', 'on', 'off')),
    P('swa_full', True, 'Models with a sliding window get as many KV cells for its layers as for '
      'the others, so that going back rarely costs reuse; false saves memory.'),
    P('rope_freq_base', 0.0, 'RoPE base frequency; 0: that of the model.', bounds=(0.0, 1e9)),
    P('rope_freq_scale', 0.0, 'RoPE scale; 0: that of the model.', bounds=(0.0, 64.0)),
    P('session_ttl', 0.0, 'KV cells of a session that is idle for this long [s] are freed; 0: '
      'when their room is needed.', bounds=(0.0, 1e9)),
    P('spill_bytes', 0, 'Host memory for evicted sessions, which come back from there instead of '
      'being evaluated again; 0: off. On boards with unified memory, as Jetsons, it is the same '
      'memory.', bounds=(0, 1 << 40)),
    P('prefix_folder', '', 'Keeps the evaluated prefix across restarts; empty: not at all.'),
    P('prefix_bytes', 2 << 30, 'Of that folder at most.', bounds=(0, 1 << 40)),
    P('guess', True, 'Guess tokens and verify them in the batch that is due anyway, where it '
      'pays.'),
    P('draft_model_path', '', 'A smaller GGUF file with the same vocabulary, which guesses free '
      'text where that pays; empty: none.'),
    P('call_tokens', 256, 'Generated tokens of a call at most.', live=True, bounds=(16, 4096)),
    P('text_length',
      160,
      'Characters of a free text that the model writes at most.',
      live=True, bounds=(8, 512)),
    P('reasoning_tokens', 64, 'Tokens of a thought before a call at most.', live=True,
      bounds=(8, 1024)),
    P('observation_tokens', 512, 'Tokens of a tool result at most; longer ones are cut, with a '
      'mark.', live=True, bounds=(16, 1 << 20)),
    P('session_tokens', 0, 'Tokens of a session at most, beyond which its oldest messages are '
      'dropped; 0: what the context holds.', live=True, bounds=(0, 1 << 20)),
    P('summary_length', 0, 'Characters in which the model sums up messages before they are '
      'dropped; 0: it does not.', live=True, bounds=(0, 512)),
    P('candidates', 1, 'Programs that the model writes in a turn at most (act_by: programs): '
      'where the first does not fit the goal, as far as can be seen, others are sampled.',
      live=True, bounds=(1, 16)),
    P('temperature', 0.0, 'Of sampling; 0 is greedy.', live=True, bounds=(0.0, 2.0)),
    P('top_k', 40, 'Sampling: the best tokens kept; 0: all.', live=True, bounds=(0, 1000)),
    P('top_p', 0.95, 'Sampling: probability mass kept.', live=True, bounds=(0.01, 1.0)),
    P('min_p',
      0.05,
      'Sampling: share of the best probability that a token needs.',
      live=True, bounds=(0.0, 1.0)),
    P('seed', 0, 'Of sampling.', live=True, bounds=(0, (1 << 31) - 1)),
    P('max_steps', 16, 'Tool calls of a goal that does not say.', live=True, bounds=(1, 1000)),
    P('time_budget',
      300.0,
      'Seconds of a goal that does not say.',
      live=True,
      bounds=(0.1, 86400.0)),
    P('loop_limit',
      3,
      'Equal calls with equal results in a row that end a goal.',
      live=True,
      bounds=(2, 100)),
    P('step_budget', 5.0, 'Seconds of inference of one step; a goal whose step takes longer ends '
      'TIMEOUT. 0: no limit.', live=True, bounds=(0.0, 86400.0)),
    P('check_finish', 'off', 'Whether the model, when it says that a goal is reached, is shown '
      'once what was done and decides again: always (all), where a call failed and was not made '
      'good (failed), or also where the goal names a value that no call used (named), and then '
      'not by finish (insist).', live=True, choices=tuple(m.value for m in FinishCheckMode)),
    P('recovery_hints', False, 'Results of failed and repeated calls say what can be done.',
      live=True),
    P('goal_policy', 'queue', 'What happens to a goal that comes while another runs: it waits, is '
      'rejected, or ends the others PREEMPTED.', live=True, choices=GOAL_POLICIES),
    P('queue_length', 4, 'Goals that wait at most; more are rejected.', live=True,
      bounds=(0, 100)),
    P('log_prompts', False, 'Log what the model is given at each step, after the prefix.',
      live=True),
    P('trace_dir', '', 'Folder that takes a file for each goal, which "edge_llm trace" shows; '
      'empty: none.', live=True),
    P('hit_rate_warning', 0.8, 'Diagnostics warn where less of the last prompts came from the KV '
      'cache.', live=True, bounds=(0.0, 1.0)),
    P('memory_warning', 256 << 20, 'Diagnostics warn where fewer bytes of memory are available.',
      live=True, bounds=(0, 1 << 40)),
)


def parameter_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the value of every parameter, for a planner that is no node.

    :param given: values that differ from the defaults
    :raises ConfigError: if there is no such parameter, or it cannot have the value
    """
    known = {p.name: p for p in PARAMETERS}
    for name, value in given.items():
        if name not in known:
            raise ConfigError(f'there is no parameter {name!r}; parameters: {", ".join(known)}.')
        if problem := known[name].problem(value):
            raise ConfigError(f'{problem}.')
    values = {**{name: p.default for name, p in known.items()}, **given}
    return {name: float(value) if isinstance(known[name].default, float) else value
            for name, value in values.items()}
