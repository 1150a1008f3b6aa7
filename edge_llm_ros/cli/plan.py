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

"""`edge_llm plan`: send a goal and watch it."""

from __future__ import annotations

import argparse
import signal
import sys

from edge_llm_interfaces.action import Plan
from edge_llm_ros.cli.plan_client import PlanClient
from edge_llm_ros.cli.plan_view import PlanView
from edge_llm_ros.flow.errors import EdgeLlmError
from edge_llm_ros.ros.conversions import duration
import rclpy
from rclpy.signals import SignalHandlerOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument('instruction', help='what the robot should do, in plain language')
    parser.add_argument('--context', default='', help='live facts, as text or JSON')
    parser.add_argument('--session', default='', help='the conversation that goes on')
    parser.add_argument('--allow', action='append', default=[], metavar='TOOL',
                        help='may be called, beside the built-in ones; can be repeated')
    parser.add_argument('--max-steps', type=int, default=0)
    parser.add_argument('--time-budget', type=float, default=0.0, metavar='SECONDS')
    parser.add_argument('--dry-run', action='store_true', help='acts are checked, not sent')
    parser.add_argument('--wait', type=float, default=10.0, metavar='SECONDS',
                        help='for a planner that is still starting')
    parser.add_argument('--planner', default='planner', help='name of the planner node')


def run(args: argparse.Namespace) -> int:
    """Send the goal; 0 if it was reached."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # The robot must not go on because a terminal was closed.
        signal.signal(number, signal.default_int_handler)
    # SIGINT must reach Python: rclpy's own handler would shut the context down before the cancel.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        view = PlanView()
        client = PlanClient(rclpy.create_node('edge_llm_plan'), args.planner, view.show_wait)
        goal = Plan.Goal(
            instruction=args.instruction, context=args.context, session_id=args.session,
            allowed_tools=args.allow, max_steps=args.max_steps,
            time_budget=duration(args.time_budget), dry_run=args.dry_run)
        end = client.plan(goal, view.on_feedback, args.wait)
        view.show_end(end)
        return 0 if end.succeeded else 1
    except EdgeLlmError as error:
        print(f'edge_llm plan: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('edge_llm plan: ended before a goal was accepted', file=sys.stderr)
        return 130
    finally:
        rclpy.try_shutdown()


def main() -> int:
    """Run as a command of its own: ros2 run edge_llm_ros plan."""
    parser = argparse.ArgumentParser(prog='plan',
                                     description='Send a goal to the planner and watch it.')
    add_arguments(parser)
    return run(parser.parse_args(rclpy.utilities.remove_ros_args(sys.argv)[1:]))


if __name__ == '__main__':
    sys.exit(main())
