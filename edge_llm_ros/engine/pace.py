"""How many tokens a prefill chunk may have, so that a cancel is seen soon."""

from __future__ import annotations


class Pace:
    """
    Chunk sizes, in powers of two, that take about a given time on this machine.

    :param seconds: what a chunk should take
    :param largest: tokens of a chunk at most
    """

    def __init__(self, seconds: float, largest: int) -> None:
        self._seconds = seconds
        self._largest = largest
        self._rate = 0.0

    @property
    def chunk(self) -> int:
        """Return the tokens of the next chunk."""
        size = 16
        while size * 2 <= self._largest and size * 2 <= self._rate * self._seconds * 1.25:
            size *= 2
        return min(size, self._largest)

    def measured(self, tokens: int, seconds: float) -> None:
        """Take note of how long a chunk took."""
        if tokens < 8 or seconds <= 0:
            return  # too few to tell the rate of a chunk
        rate = tokens / seconds
        self._rate = rate if not self._rate else 0.7 * self._rate + 0.3 * rate
