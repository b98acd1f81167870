"""Group commit: one fsync for all who are about to call anyway.

A commit lasts about as long as a caller needs to come back. So the cycle waits for those who called
lately, but no longer than a third of a recent commit, and not at all once they are all there: a
lone worker never waits.
"""

from __future__ import annotations

SHARE = 1 / 3
MOST_S = 0.003
LEAST_S = 0.0002  # less is not worth a timer
WEIGHT = 0.2  # of the newest commit in the mean


class Gathering:
    def __init__(self) -> None:
        self._wait_s = 0.0
        self._callers: dict[str, None] = {}  # since the last cycle
        self._before: dict[str, None] = {}  # in the cycle before
        self._expected = 0

    def called(self, host: str) -> None:
        self._callers[host] = None

    @property
    def complete(self) -> bool:
        return len(self._callers) >= self._expected

    @property
    def wait_s(self) -> float:
        return 0.0 if self.complete or self._wait_s < LEAST_S else self._wait_s

    def cycled(self) -> None:
        self._expected = len(self._callers | self._before)
        self._before, self._callers = self._callers, {}

    def committed(self, lasted_s: float) -> None:
        self._wait_s += WEIGHT * (min(lasted_s * SHARE, MOST_S) - self._wait_s)
