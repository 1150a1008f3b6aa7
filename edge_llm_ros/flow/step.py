"""One tool call of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from edge_llm_ros.flow.metrics import Metrics


@dataclass(frozen=True)
class Step:
    """
    One tool call and what came of it.

    :param index: from 0
    :param arguments: JSON object
    :param status: a value of Status
    :param observation: JSON, what the model is told
    """

    index: int
    tool: str = ''
    arguments: str = ''
    status: int = 0
    observation: str = ''
    error: str = ''
    metrics: Metrics = Metrics()
