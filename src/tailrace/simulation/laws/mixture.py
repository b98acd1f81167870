"""Several laws, each with its share."""

from __future__ import annotations

import math

import numpy as np

from tailrace.simulation.laws.law import Floats, Law, above_zero

_HALVINGS = 200  # enough for any two floats; the loop ends as soon as nothing moves


class Mixture(Law, frozen=True):
    """Each value comes from one of `laws`, with the probability of its weight.

    `draw` uses the one uniform twice: its place among the weights names the law, its place within
    that weight is the law's own uniform. This is as exact as the quantile and many times faster,
    but not monotone.
    """

    weights: tuple[float, ...]
    laws: tuple[Law, ...]

    def __post_init__(self) -> None:
        if not self.laws or len(self.weights) != len(self.laws):
            raise ValueError("a mixture needs laws, and a weight for each of them")
        for weight in self.weights:
            above_zero(weight=weight)
        if not math.isfinite(sum(self.weights)):
            raise ValueError("its weights are too large to be added")

    def draw(self, u: Floats) -> Floats:
        ends = np.cumsum(self._shares())
        chosen = np.minimum(np.searchsorted(ends, u, side="right"), len(self.laws) - 1)
        drawn = np.empty_like(u)
        for number, (law, share) in enumerate(zip(self.laws, self._shares(), strict=True)):
            here = chosen == number
            within = (u[here] - (ends[number] - share)) / share
            drawn[here] = law.draw(_inside(within))
        return drawn

    def quantile(self, u: Floats) -> Floats:
        """By halving: the value lies between the least and the greatest of the laws' own."""
        u = np.asarray(u, np.float64)
        each = np.array([law.quantile(u) for law in self.laws])
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            if np.all((middle <= low) | (middle >= high)):
                break
            reached = self.cdf(middle) >= u
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.asarray(np.where(self.cdf(low) >= u, low, high))

    def cdf(self, x: Floats) -> Floats:
        parts = zip(self._shares(), self.laws, strict=True)
        return np.asarray(sum(share * law.cdf(x) for share, law in parts))

    def mean(self) -> float:
        return float(sum(s * law.mean() for s, law in zip(self._shares(), self.laws, strict=True)))

    def variance(self) -> float:
        squares = (law.variance() + law.mean() ** 2 for law in self.laws)
        both = zip(self._shares(), squares, strict=True)
        return float(sum(share * square for share, square in both)) - self.mean() ** 2

    def _shares(self) -> Floats:
        return np.asarray(self.weights) / sum(self.weights)


def _inside(u: Floats) -> Floats:
    """Rounding may bring a rescaled uniform to an end of the open interval."""
    return np.clip(u, 2.0**-53, 1 - 2.0**-53)
