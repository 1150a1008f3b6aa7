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

"""The simulated robot and a planner for it; send goals with `ros2 run edge_llm_ros plan "..."`."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

LAUNCH = Path(get_package_share_directory('edge_llm_ros')) / 'launch'


def generate_launch_description() -> LaunchDescription:
    """Return the simulated robot and the planner; the planner's arguments are taken too."""
    seed = DeclareLaunchArgument('seed', default_value='0', description='of the simulated world')
    robot = Node(
        package='edge_llm_ros', executable='simulated_robot', name='simulated_robot',
        output='screen',
        parameters=[{'seed': ParameterValue(LaunchConfiguration('seed'), value_type=int)}])
    planner = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(LAUNCH / 'planner.launch.py')))
    return LaunchDescription([seed, robot, planner])
