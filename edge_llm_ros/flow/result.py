"""How a goal ends."""

from __future__ import annotations

from dataclasses import dataclass
import enum

from edge_llm_ros.flow.metrics import Metrics
from edge_llm_ros.flow.step import Step


class Outcome(enum.IntEnum):
    """Why a goal ended; values equal the constants of the Plan result."""

    UNKNOWN = 0
    SUCCEEDED = 1
    FAILED = 2
    MAX_STEPS = 3
    TIMEOUT = 4
    CANCELED = 5
    PREEMPTED = 6
    STOPPED = 7
    DEACTIVATED = 8
    LOOP = 9
    CONTEXT_FULL = 10
    ENGINE_ERROR = 11


@dataclass(frozen=True)
class Result:
    """
    The end of a goal.

    :param message: one sentence for a person
    """

    outcome: Outcome
    message: str
    steps: tuple[Step, ...]
    metrics: Metrics
