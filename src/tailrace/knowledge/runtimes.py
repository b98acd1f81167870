"""How long the tasks of a bag run: mean and spread so far, and how they go lately."""

from __future__ import annotations

import math

RECENT = 0.05  # weight of the newest run in the recent mean


class RunTimes:
    """Sums of whole microseconds, which never round, beside a recent mean that follows a change."""

    __slots__ = ("_squares", "_total", "count", "recent_us")

    def __init__(self) -> None:
        self.count = 0
        self.recent_us = 0.0
        self._total = 0
        self._squares = 0

    def add(self, run_us: int) -> None:
        self.count = count = self.count + 1
        self._total += run_us
        self._squares += run_us * run_us
        recent = self.recent_us
        self.recent_us = recent + (run_us - recent) * (RECENT if count > 20 else 1 / count)

    @property
    def mean_us(self) -> float:
        return self._total / self.count if self.count else 0.0

    @property
    def deviation_us(self) -> float:
        """Of the sample: exact until the last division."""
        if self.count < 2:
            return 0.0
        apart = self.count * self._squares - self._total**2
        return math.sqrt(apart / (self.count * (self.count - 1)))
