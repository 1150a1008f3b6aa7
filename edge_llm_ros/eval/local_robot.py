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

"""The planner and the simulated robot in one process: missions without ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.construction import engine_config, goal_settings, planning_model
from edge_llm_ros.agent.parameters import parameter_values
from edge_llm_ros.engine.host import HostEngine
from edge_llm_ros.engine.local import LocalEngine
from edge_llm_ros.eval.case_run import GoalEnd, run_case, session_of
from edge_llm_ros.eval.eval_setup import EvalSetup, GOAL_SECONDS
from edge_llm_ros.eval.event import events_of
from edge_llm_ros.eval.instant_robot import InstantRobot
from edge_llm_ros.eval.instant_tools import instant_toolset
from edge_llm_ros.eval.mission import Case, CaseGoal
from edge_llm_ros.eval.rehearsal import SPEED
from edge_llm_ros.eval.row import EvalRow
from edge_llm_ros.eval.tool_sets import fitting_prompt, parsed
from edge_llm_ros.flow.cancellation import Cancellation
from edge_llm_ros.flow.event import Finished
from edge_llm_ros.flow.goal import Goal
from edge_llm_ros.sim.world import World
from edge_llm_ros.tools.load_tools import LoadedTools
from edge_llm_ros.tools.tool_file import ToolFile


class LocalRobot:
    """
    A planner and a world that its tools act on; a context manager.

    The agent, the model's prefix, the engine and the gate are those of the planner's node.

    :raises EdgeLlmError: if something of the setup cannot be used
    """

    def __init__(self, setup: EvalSetup) -> None:
        self._setup = setup
        self._parameters = parameter_values({'engine_process': False, **setup.parameters})
        self._set = ''  # of tools, that of the latest case
        config = engine_config(self._parameters)
        self._engine = (HostEngine if self._parameters['engine_process'] else LocalEngine)(config)

    def close(self) -> None:
        """Free the model."""
        self._engine.close()

    def __enter__(self) -> LocalRobot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, case: Case) -> EvalRow:
        """Run a case, with its tools: others than those of the case before are another prefix."""
        if case.tools != self._set:
            self._set = ''
            self._take(self._setup.sets.tool_file(case.tools, self._setup.robot_tools))
            self._set = case.tools
        return run_case(case, self, self._tools, self._setup.setting)

    def _take(self, content: Mapping[str, Any]) -> None:
        """Have the model know the tools of a file's content, and no others."""
        self._tools = parsed(content)
        self._loaded = _loaded(self._tools, str(self._setup.robot_tools))
        self._loaded.check_bounds()
        prompt = fitting_prompt(self._setup.prompt, self._tools)
        self._words = prompt.words
        schemas = self._loaded.schemas()
        examples = prompt.for_tools(str(self._setup.prompt), schemas)
        self._model = planning_model(self._engine, self._parameters, prompt, schemas, examples)
        for _ in self._model.warm_up():
            pass

    def reset(self, case: Case) -> None:
        """Begin in a fresh world, with a gate that has counted nothing."""
        self._robot = InstantRobot(World(speed=SPEED, scene=case.scene))
        self._toolset = instant_toolset(self._loaded, self._robot)

    def plan(self, case: Case, goal: CaseGoal) -> GoalEnd:
        """Let the planner reach a goal."""
        world = self._robot.world
        before = len(world.events)
        cancellation = Cancellation()
        cancellation.limit(GOAL_SECONDS)
        asked = Goal(
            instruction=goal.text, context=goal.context, session_id=session_of(case),
            max_steps=goal.budget, time_budget=GOAL_SECONDS,
            **goal_settings(self._parameters))
        # To the very end: what comes after the last event ends the conversation.
        result = [event.result for event in Agent(self._model, self._toolset, self._words).run(
            asked, cancellation) if isinstance(event, Finished)][-1]
        return GoalEnd(result.outcome.name.lower(), result.message, result.steps, result.metrics,
                       world.state(), events_of(world.events[before:]))


def _loaded(tools: ToolFile, path: str) -> LoadedTools:
    """Return tools as if they were loaded from a file."""
    files = {**dict.fromkeys(tools.tools, path), 'builtins': path, 'fallback': path}
    limits = () if tools.rate_limit is None else (tools.rate_limit,)
    return LoadedTools(tools.tools, tools.builtins, files, tools.signals, limits,
                       tools.context_from, tools.fallback)
