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

"""What a planner is made of, from its parameters; the same with a node around it and without."""

from __future__ import annotations

from collections.abc import Sequence
import os
from typing import Any

from edge_llm_ros.agent.parameters import OFF, Parameters, PLAN_SHORT, PROGRAMS
from edge_llm_ros.flow.engine import Engine, EngineConfig, Sampling
from edge_llm_ros.flow.errors import ConfigError
from edge_llm_ros.flow.forethought import ForethoughtSettings, Reasoning
from edge_llm_ros.flow.goal import FinishCheckMode
from edge_llm_ros.flow.tool import ToolSchema
from edge_llm_ros.program.program_model import ProgramModel
from edge_llm_ros.prompt.chat_format import Example
from edge_llm_ros.prompt.forethought import Forethought, groups_of
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits
from edge_llm_ros.prompt.goal_reminder import GoalReminder
from edge_llm_ros.prompt.local_model import LocalModel
from edge_llm_ros.prompt.prompt_file import PromptFile

_ENGINE_FIELDS = (
    'context_tokens', 'max_sessions', 'batch_tokens', 'chunk_seconds', 'threads', 'batch_threads',
    'cpu_affinity', 'niceness', 'gpu_layers', 'guess', 'prefix_bytes', 'cache_type_k',
    'cache_type_v', 'flash_attention', 'swa_full', 'rope_freq_base', 'rope_freq_scale',
    'session_ttl', 'spill_bytes')
_LIMIT_FIELDS = ('call_tokens', 'text_length', 'reasoning_tokens', 'observation_tokens',
                 'session_tokens', 'summary_length', 'candidates')
_OF_CALLS = ('goal_reminder', 'triage', 'route', 'plan', 'reasoning')
_SAMPLING_FIELDS = ('temperature', 'top_k', 'top_p', 'min_p', 'seed')


def expanded(path: str) -> str:
    """Return a path with ~ and variables filled in."""
    return os.path.expanduser(os.path.expandvars(path))


def engine_config(parameters: Parameters) -> EngineConfig:
    """Return what the engine is made of."""
    return EngineConfig(
        model_path=expanded(parameters['model_path']),
        prefix_folder=expanded(parameters['prefix_folder']),
        draft_model_path=expanded(parameters['draft_model_path']),
        **{name: parameters[name] for name in _ENGINE_FIELDS})


def generation_limits(parameters: Parameters) -> GenerationLimits:
    """Return how the model writes."""
    sampling = Sampling(**{name: parameters[name] for name in _SAMPLING_FIELDS})
    return GenerationLimits(
        sampling=sampling, **{name: parameters[name] for name in _LIMIT_FIELDS})


def goal_settings(parameters: Parameters) -> dict[str, Any]:
    """Return the fields of a goal that only parameters say."""
    return {'step_budget': parameters['step_budget'], 'loop_limit': parameters['loop_limit'],
            'check_finish': FinishCheckMode(parameters['check_finish']),
            'recovery_hints': parameters['recovery_hints']}


def planning_model(engine: Engine, parameters: Parameters, prompt: PromptFile,
                   tools: Sequence[ToolSchema], examples: Sequence[Example]) -> LocalModel:
    """
    Return the model that plans; its prefix is not evaluated yet.

    :param prompt: where the examples are from
    :raises ConfigError: if prompt and tools do not fit into the context, or the prompt is for
        another way to act
    """
    frames = chat_format(parameters['chat_format'], engine.info())
    limits = generation_limits(parameters)
    if parameters['act_by'] == PROGRAMS:
        for name in _OF_CALLS:
            if parameters[name] not in (False, OFF):
                raise ConfigError(f'{name}: is for act_by: calls; with programs, leave it out.')
        if prompt.examples and not prompt.programs:
            raise ConfigError('prompt_file: has examples of calls and none of programs, which '
                              'act_by: programs needs. Give such a file.')
        return ProgramModel(engine, frames, prompt, tools, limits)
    if prompt.programs and not prompt.examples:
        raise ConfigError('prompt_file: has examples of programs and none of calls, which act_by: '
                          'calls needs. Give such a file, or act_by: programs.')
    reminder = GoalReminder(prompt.words.reminder) if parameters['goal_reminder'] else None
    return LocalModel(engine, frames, prompt.system, tools, examples, limits,
                      forethought=_forethought(engine, parameters, prompt, tools),
                      reminder=reminder)


def _forethought(engine: Engine, parameters: Parameters, prompt: PromptFile,
                 tools: Sequence[ToolSchema]) -> Forethought:
    groups, words = groups_of(tools), prompt.words
    if parameters['route'] and (len(groups) < 2 or words.route_all in groups):
        raise ConfigError(f'route: the tools have the groups {groups or "none"}. Give them at '
                          f'least two in the tool files (group: NAME), none of the name '
                          f'{words.route_all!r}, or leave it out.')
    settings = ForethoughtSettings(
        triage=parameters['triage'], route=parameters['route'],
        plan=parameters['plan'] == PLAN_SHORT,
        reasoning=Reasoning(parameters['reasoning']))
    return Forethought(settings, words, engine.info(), tools)
