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

"""The planner: loads the model, evaluates its prefix, and takes goals."""

import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue

CONFIG = Path(get_package_share_directory('edge_llm_ros')) / 'config'
CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
MODELS = CACHE / 'edge_llm_ros' / 'models'
ARGUMENTS = (
    ('model', str(MODELS / 'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf'), 'GGUF file of the model'),
    ('tools', str(CONFIG / 'simulated_robot.yaml'), 'YAML file of the tools'),
    ('prompt', str(CONFIG / 'prompt.yaml'), 'YAML file of the system prompt and the examples'),
    ('params', str(CONFIG / 'planner.yaml'), 'parameter file of the node'),
    ('namespace', '', 'namespace of the node'),
    ('autostart', 'true', 'configure and activate at once, and again after a respawn'),
    ('respawn', 'true', 'start the planner again when it dies, which stops what it left going on'),
)


def generate_launch_description() -> LaunchDescription:
    """Return the planner."""
    planner = LifecycleNode(
        package='edge_llm_ros', executable='planner', name='planner',
        namespace=LaunchConfiguration('namespace'), output='screen',
        respawn=LaunchConfiguration('respawn'), respawn_delay=1.0,
        parameters=[
            LaunchConfiguration('params'),
            {'model_path': ParameterValue(LaunchConfiguration('model'), value_type=str),
             # A list in a list: one alone would be joined to a text.
             'tool_files': [[LaunchConfiguration('tools')]],
             'prompt_file': ParameterValue(LaunchConfiguration('prompt'), value_type=str),
             # The node does this by itself: by launch's events, a request to a node that was just
             # started again can reach nobody but its dead predecessor, and be lost.
             'autostart': ParameterValue(LaunchConfiguration('autostart'), value_type=bool)}])
    arguments = [DeclareLaunchArgument(name, default_value=default, description=text)
                 for name, default, text in ARGUMENTS]
    return LaunchDescription([*arguments, planner])
