"""What a mission planner asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """
    A goal in plain language.

    :param instruction: what the robot should do
    :param context: live facts for this goal only; they go into the new block, never into the prefix
    :param session_id: the conversation that goes on; empty for a session of its own
    :param allowed_tools: names of the tools that may be called; None for all
    :param max_steps: tool calls at most, finish included
    :param time_budget: seconds at most
    :param dry_run: reads run; acts pass every check and are not sent
    """

    instruction: str
    context: str = ''
    session_id: str = ''
    allowed_tools: frozenset[str] | None = None
    max_steps: int = 16
    time_budget: float = 300.0
    dry_run: bool = False
