"""The built-in comparison: small models read numbers well and compare them badly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edge_llm_ros.tools.gate import Refused


def compare(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """
    Compare two numbers.

    :returns: the relation in words; not "true" or "false", which a small model forgets the question of
    :raises Refused: if the arguments are not two numbers
    """
    value, limit = arguments.get('value'), arguments.get('limit')
    for number in (value, limit):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise Refused(f'value and limit must be numbers, not {number!r}')
    assert value is not None and limit is not None
    relation = 'above' if value > limit else 'below' if value < limit else 'equal to'
    return {'result': f'{value} is {relation} {limit}'}
