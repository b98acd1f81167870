"""How long the tasks of a bag run: mean and spread so far, and how they go lately."""

from __future__ import annotations

import math


class RunTimes:
    """Welford's running mean and variance, beside a recent mean that follows a change."""

    __slots__ = ("_square", "count", "mean_us", "recent_us")

    RECENT = 0.05  # weight of the newest run in the recent mean

    def __init__(self) -> None:
        self.count = 0
        self.mean_us = 0.0
        self.recent_us = 0.0
        self._square = 0.0

    def add(self, run_us: int) -> None:
        self.count += 1
        apart = run_us - self.mean_us
        self.mean_us += apart / self.count
        self._square += apart * (run_us - self.mean_us)
        weight = max(self.RECENT, 1.0 / self.count)
        self.recent_us += weight * (run_us - self.recent_us)

    @property
    def deviation_us(self) -> float:
        return math.sqrt(self._square / (self.count - 1)) if self.count > 1 else 0.0
