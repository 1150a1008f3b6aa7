"""The command `edge_llm`."""

from __future__ import annotations

import argparse
import sys

from edge_llm_ros.cli import demo, plan

_VERBS = {
    'plan': (plan, 'send a goal to the planner and watch it'),
    'demo': (demo, 'plan on a simulated robot and check what it did'),
}


def main(argv: list[str] | None = None) -> int:
    """Run a verb; its result is the exit code."""
    parser = argparse.ArgumentParser(
        prog='edge_llm', description='Plan goals in plain language on the robot itself.')
    verbs = parser.add_subparsers(dest='verb', required=True)
    for name, (module, text) in _VERBS.items():
        module.add_arguments(verbs.add_parser(name, help=text, description=text))
    args = parser.parse_args(argv)
    return _VERBS[args.verb][0].run(args)


if __name__ == '__main__':
    sys.exit(main())
