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

from edge_llm_ros.agent.agent import Agent
from edge_llm_ros.agent.construction import engine_config, planning_model
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


class LocalRobot:
    """
    A planner with one set of tools and a world that they act on; a context manager.

    The agent, the model's prefix, the engine and the gate are those of the planner's node.

    :param tools: name of the set
    :raises EdgeLlmError: if something of the setup cannot be used
    """

    def __init__(self, setup: EvalSetup, tools: str) -> None:
        self._setup = setup
        self._parameters = parameter_values({'engine_process': False, **setup.parameters})
        self.tools = parsed(setup.sets.tool_file(tools, setup.robot_tools))
        file = str(setup.robot_tools)
        self._loaded = LoadedTools(
            self.tools.tools, self.tools.builtins,
            {**dict.fromkeys(self.tools.tools, file), 'builtins': file, 'fallback': file},
            self.tools.signals,
            () if self.tools.rate_limit is None else (self.tools.rate_limit,),
            self.tools.context_from, self.tools.fallback)
        self._loaded.check_bounds()
        schemas = self._loaded.schemas()
        self._robot = InstantRobot(World(speed=SPEED))
        self._toolset = instant_toolset(self._loaded, self._robot)
        prompt = fitting_prompt(setup.prompt, self.tools)
        examples = prompt.for_tools(str(setup.prompt), schemas)
        config = engine_config(self._parameters)
        self._engine = (HostEngine if self._parameters['engine_process'] else LocalEngine)(config)
        try:
            self._model = planning_model(
                self._engine, self._parameters, prompt, schemas, examples)
            for _ in self._model.warm_up():
                pass
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the model."""
        self._engine.close()

    def __enter__(self) -> LocalRobot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, case: Case) -> EvalRow:
        """Run a case."""
        return run_case(case, self, self.tools, self._setup.setting)

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
            step_budget=self._parameters['step_budget'],
            loop_limit=self._parameters['loop_limit'])
        # To the very end: what comes after the last event ends the conversation.
        result = [event.result for event in Agent(self._model, self._toolset).run(
            asked, cancellation) if isinstance(event, Finished)][-1]
        return GoalEnd(result.outcome.name.lower(), result.message, result.steps, result.metrics,
                       world.state(), events_of(world.events[before:]))
