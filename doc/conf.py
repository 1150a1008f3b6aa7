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

"""Configuration of Sphinx; `sphinx-build doc build/doc` makes the pages."""

from pathlib import Path
import xml.etree.ElementTree

_package = xml.etree.ElementTree.parse(Path(__file__).parent.parent / 'package.xml').getroot()

project = 'edge_llm_ros'
author = 'edge_llm_ros contributors'
project_copyright = f'2026, {author}'
release = version = _package.findtext('version')

# No autodoc: it would import rclpy and llama.cpp, which are not there where pages are made.
extensions = []
exclude_patterns = ['_build']
highlight_language = 'none'

html_theme = 'alabaster'
html_theme_options = {
    'description': 'A planner for ROS 2 with a language model on the robot itself',
    'page_width': '1100px',
    'sidebar_width': '240px',
}
