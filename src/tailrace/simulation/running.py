"""Mean and variance of what has come so far: after each run of an experiment they are there.

Welford's sums. The variance is that of a sample, over n - 1, as in the listing of DSiDE's DMExec
(thesis 2.4), where the means of shares are means over the runs and not the share of the sums. That
listing cuts its numbers off after three decimals; ours are rounded only where they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tailrace.knowledge import student

LEVEL = 0.95
SETTLED = 0.05  # of the mean: an interval no wider than that to either side


class Running:
    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        self.least = math.inf
        self.most = -math.inf

    def add(self, value: float) -> None:
        self.count += 1
        apart = value - self.mean
        self.mean += apart / self.count
        self._squares += apart * (value - self.mean)
        self.least, self.most = min(self.least, value), max(self.most, value)

    @property
    def variance(self) -> float:
        """Of the sample."""
        return self._squares / (self.count - 1) if self.count > 1 else 0.0

    @property
    def half_width(self) -> float:
        """Of the interval around the mean, by Student's t."""
        if self.count < 2:
            return math.inf
        return student.quantile(self.count - 1, LEVEL) * math.sqrt(self.variance / self.count)

    @property
    def settled(self) -> bool:
        """Few runs, a short time or a system with two states leave a wide interval."""
        return self.half_width <= SETTLED * abs(self.mean)


def summary(found: Iterable[Mapping[str, float | None]]) -> dict[str, Running]:
    """By figure; one that is missing in a run (a cost that never arose) counts as nothing, and of
    one that is not known (None) the run does not count."""
    runs = list(found)
    names = dict.fromkeys(name for one in runs for name in one)
    running = {name: Running() for name in names}
    for one in runs:
        for name, sums in running.items():
            value = one.get(name, 0.0)
            if value is not None:
                sums.add(value)
    return running
