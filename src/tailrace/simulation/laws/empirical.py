"""The law of observed values, some of which may only be known to be longer than they were seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tailrace.simulation.laws.law import Floats, Law


class Empirical(Law, frozen=True, eq=False):
    """Takes the observed values only; make it with `Empirical.of`.

    With right-censored observations (a machine that was given back before it failed) the steps are
    those of Kaplan and Meier. If the longest observation is censored, some probability is left
    beyond it, and nobody knows where: it is put on that longest observation (Efron's convention).
    The law then ends there, and its mean is a lower bound.
    """

    values: Floats  # ascending, each once
    steps: Floats  # the distribution function at each of them; the last is 1

    @classmethod
    def of(cls, values: Sequence[float] | Floats, censored: Sequence[bool] | None = None) -> Law:
        seen = np.asarray(values, np.float64)
        open_ended = np.zeros(len(seen), bool) if censored is None else np.asarray(censored, bool)
        _check(seen, open_ended)
        points, ended, left = _counted(seen, open_ended)
        steps = np.asarray(1 - np.cumprod(1 - ended / left), np.float64)
        steps[-1] = 1.0
        kept = np.diff(steps, prepend=0.0) > 0
        return cls(points[kept], steps[kept])

    def quantile(self, u: Floats) -> Floats:
        at = np.searchsorted(self.steps, u, side="left")
        return self.values[np.minimum(at, len(self.values) - 1)]

    def cdf(self, x: Floats) -> Floats:
        return np.concatenate(([0.0], self.steps))[np.searchsorted(self.values, x, side="right")]

    def mean(self) -> float:
        return float(self._masses() @ self.values)

    def variance(self) -> float:
        """Over the values as they are, not an estimate for others (BaTS thesis 4.1, biased)."""
        return float(self._masses() @ (self.values - self.mean()) ** 2)

    def _masses(self) -> Floats:
        return np.diff(self.steps, prepend=0.0)


def _check(values: Floats, censored: NDArray[np.bool_]) -> None:
    if len(values) == 0 or len(values) != len(censored):
        raise ValueError("an empirical law needs values, and as many marks of censoring as values")
    if not np.all(np.isfinite(values)):
        raise ValueError("an empirical law needs numbers")
    if np.all(censored):
        raise ValueError("every value is censored, so nothing is known of where they end")


def _counted(
    values: Floats, censored: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Each distinct value, how many ended there, and how many were still seen just before."""
    points, place, here = np.unique(values, return_inverse=True, return_counts=True)
    ended = np.bincount(place[~censored], minlength=len(points))
    left = len(values) - np.cumsum(here) + here
    return points, ended, left
