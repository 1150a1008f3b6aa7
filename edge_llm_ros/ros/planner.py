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

"""Everything that configure makes and cleanup frees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import time
from typing import Any

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.construction import (
    engine_config, expanded, generation_limits, planning_model)
from edge_llm_ros.engine.host import HostEngine
from edge_llm_ros.engine.process_keeper import ProcessState
from edge_llm_ros.flow.engine import Engine, EngineConfig, ModelInfo
from edge_llm_ros.flow.errors import ConfigError, EngineError
from edge_llm_ros.platform.bandwidth import board_bandwidth, measured_bandwidth
from edge_llm_ros.platform.memory import peak_memory_bytes
from edge_llm_ros.platform.model_speed import model_speed, ModelSpeed
from edge_llm_ros.prompt.dynamic_text import dynamic_prefix
from edge_llm_ros.prompt.prompt_file import PromptFile
from edge_llm_ros.ros.goal_journal import GoalJournal, journal_path
from edge_llm_ros.ros.parameters import PlannerParameters
from edge_llm_ros.ros.recovery import stop_leftovers
from edge_llm_ros.ros.toolset import RosToolset
from edge_llm_ros.tools.confirmation import Confirmations
from edge_llm_ros.tools.load_tools import load_tools
from edge_llm_ros.tools.read_file import read_file
from edge_llm_ros.tools.stop_latch import StopLatch

_TELL_SECONDS = 3.0  # between two lines for the person who waits
_BYTES_PER_TOKEN = 16  # more than any text has on average


def _where(info: ModelInfo) -> str:
    gpu = f'{info.gpu_layers} of {info.layers + 1} layers on the GPU, ' if info.gpu_layers else ''
    return f'{gpu}{info.threads} CPU threads'


class Planner:
    """
    A loaded model, its warm prefix and the tools.

    Files and interfaces are checked first: they fail in milliseconds, the model loads in seconds.

    :param node: that owns clients and publishers
    :param group: reentrant callback group for them
    :param log: takes lines for the person who waits
    :param latch: set by an operator's stop
    :param confirmations: ask a person
    :raises EdgeLlmError: if anything cannot be used; what was made until then is freed
    """

    def __init__(self, node: Any, group: Any, parameters: PlannerParameters,
                 log: Callable[[str], None], latch: StopLatch, confirmations: Confirmations
                 ) -> None:
        self._node = node
        self._group = group
        self._parameters = parameters
        self._log = log
        self._engine: Engine | None = None
        self._closing = False
        self.info: ModelInfo | None = None
        self.speed: ModelSpeed | None = None
        self.prefix_tokens = 0
        self.gpu_layers_asked: int = parameters['gpu_layers']
        files = [expanded(p) for p in parameters['tool_files'] if p]
        if not files:
            raise ConfigError('tool_files: is empty. Give at least one tool file.')
        loaded = load_tools(files)
        notes = expanded(parameters['notes_file'])
        if notes and not loaded.builtins.notes:
            node.get_logger().warning('notes_file: no tool file has builtins.notes, so nothing '
                                      'can be noted.')
        self.journal = GoalJournal(journal_path(
            parameters['journal_folder'], node.get_fully_qualified_name()))
        try:
            self.toolset = RosToolset(node, group, loaded, latch=latch, journal=self.journal,
                                      confirmations=confirmations,
                                      notes_file=Path(notes) if notes else None)
        except BaseException:
            self.journal.close()
            raise
        try:
            self._prompt_path = expanded(parameters['prompt_file'])
            if not self._prompt_path:
                raise ConfigError('prompt_file: is empty. Give a prompt file.')
            self._prompt = read_file(self._prompt_path, PromptFile)
            self._examples = self._prompt.for_tools(self._prompt_path, self.toolset.schemas())
            for warning in dynamic_prefix(
                    self._prompt.system, self.toolset.schemas(), self._examples,
                    ['\n'.join([p.goal, *p.texts()]) for p in self._prompt.programs]):
                node.get_logger().warning(f'{self._prompt_path}: {warning}')
        except BaseException:
            self.close()
            raise

    def load(self) -> None:
        """
        Load the model and evaluate the prefix; close() from another thread ends it.

        Before that, what a planner that died has left going on is stopped.
        """
        stop_leftovers(self._node, self._group, self.journal, self.toolset,
                       lambda: not self._closing)
        get = self._parameters
        start = time.monotonic()
        config = engine_config(get)
        self._log(f'loading {config.model_path}')
        engine = self._engine = self._load_engine(config)
        info = engine.info()
        if info.trained_context_tokens and info.context_tokens > info.trained_context_tokens:
            self._log(f'context_tokens: {info.context_tokens} is more than the '
                      f'{info.trained_context_tokens} that the model was trained for.')
        self.model = planning_model(
            engine, get, self._prompt, self.toolset.schemas(), self._examples)
        self._log(
            f'{info.name} ({info.description}, {info.size_bytes / 1e9:.2f} GB, '
            f'{self.model.format.name}, {_where(info)}) '
            f'loaded in {time.monotonic() - start:.1f} s')
        self._warm_up()
        self.prefix_tokens = len(self.model.prefix)
        bandwidth = board_bandwidth() or (
            0.0 if info.gpu_layers else measured_bandwidth(info.threads))
        self.speed = model_speed(info, engine.batch_costs(), bandwidth)
        self.info = info

    def before_goal(self) -> None:
        """Let the parameters that are live count for the next goal."""
        self.model.limits = generation_limits(self._parameters)
        self.model.log_prompts = self._parameters['log_prompts']

    def _load_engine(self, config: EngineConfig) -> Engine:
        told = time.monotonic()

        def progress(share: float) -> None:
            nonlocal told
            if time.monotonic() - told > _TELL_SECONDS:
                told = time.monotonic()
                self._log(f'loading: {share:.0%}')

        def keep_loading() -> bool:
            return not self._closing

        if self._parameters['engine_process']:
            return HostEngine(config, keep_loading, progress)
        # Imported here: a planner whose engine is elsewhere needs no llama.cpp in its memory.
        from edge_llm_ros.engine.local import LocalEngine
        return LocalEngine(config, keep_loading, progress)

    def _warm_up(self) -> None:
        start = told = time.monotonic()
        restored = False
        for progress in self.model.warm_up():
            restored = progress.restored
            if self._closing:
                raise EngineError('the warm-up was given up.')
            if time.monotonic() - told > _TELL_SECONDS:
                told = time.monotonic()
                self._log(f'warm-up: {progress.evaluated} of {progress.total} prefix tokens')
        seconds = time.monotonic() - start
        self._log(
            f'warm-up: {len(self.model.prefix)} prefix tokens '
            f'{"restored from disk" if restored else "evaluated"} in {seconds:.1f} s and pinned')

    @property
    def max_goal_bytes(self) -> int:
        """Return the bytes of a goal beyond which tokenising it is a waste."""
        return self.model.engine.info().context_tokens * _BYTES_PER_TOKEN

    def engine_state(self) -> ProcessState | None:
        """Return how the engine's process is; None where it has none of its own."""
        return self._engine.state if isinstance(self._engine, HostEngine) else None

    def peak_memory_bytes(self) -> int:
        """Return the largest resident sizes of this process and the engine's, together."""
        state = self.engine_state()
        return peak_memory_bytes(*([state.pid] if state and state.alive else []))

    def agent(self) -> Agent:
        """Return an agent that plans with this model and these tools."""
        return Agent(self.model, self.toolset, self._prompt.words)

    def interrupt(self) -> None:
        """End a load() that is running in another thread."""
        self._closing = True
        if self._engine is not None:
            self._engine.cancel('warm_up')

    def close(self) -> None:
        """Free the model and give clients and publishers back; no goal may be running."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self.toolset.destroy()
        self.journal.close()
