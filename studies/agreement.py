"""Are two samples of one law? Two tests, and how much they would find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from studies.table import table

LEVEL = 0.01  # of each test: the chance to find a disagreement where there is none
SLOWER = (1.05, 1.1, 1.15, 1.2)  # worlds that should be told from ours
WIDER = (1.0, 0.5, 0.6, 0.75, 1.5, 2.0)  # so many times as far from the median
TRIALS = 400


class Agreement(NamedTuple):
    """Two-sample Kolmogorov–Smirnov, and Ansari–Bradley around the medians."""

    real: list[float]
    simulated: list[float]
    distance: float
    p: float
    spread_p: float

    @property
    def holds(self) -> bool:
        return self.p >= LEVEL

    @property
    def spreads_alike(self) -> bool:
        return self.spread_p >= LEVEL


def agreement(real: Sequence[float], virtual: Sequence[float]) -> Agreement:
    """A run that was braked is the longest of all, which ranks can say."""
    from scipy.stats import ansari, ks_2samp

    found = ks_2samp(real, virtual)
    spread = ansari(np.array(real) - median(real), np.array(virtual) - median(virtual))
    return Agreement(list(real), list(virtual), float(found.statistic), float(found.pvalue),
                     float(spread.pvalue))  # fmt: skip


def power(both: Agreement) -> str:
    """The share of trials in which a world so much slower is told apart."""
    drawn = _samples(both)
    found = [fmean(not one.holds for one in _beside(slower * drawn, both)) for slower in SLOWER]
    return table([f"longer by {100 * (slower - 1):.0f} %" for slower in SLOWER], [_percent(found)])


def widths(both: Agreement) -> str:
    """And one that spreads so much more."""
    drawn, middle = _samples(both), median(both.simulated)
    worlds = [middle + wider * (drawn - middle) for wider in WIDER]
    found = [fmean(not one.spreads_alike for one in _beside(world, both)) for world in worlds]
    return table([f"{wider:g} times" for wider in WIDER], [_percent(found)])


def _samples(both: Agreement) -> np.ndarray:
    return np.random.default_rng(1).choice(both.simulated, (TRIALS, len(both.real)))


def _beside(drawn: np.ndarray, both: Agreement) -> Iterator[Agreement]:
    return (agreement(list(one), both.simulated) for one in drawn)


def _percent(shares: Sequence[float]) -> list[str]:
    return [f"{share:.0%}".replace("%", " %") for share in shares]
