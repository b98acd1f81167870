"""The Levy law cut off above, the long-tailed bags of the BaTS thesis (4.4, 4.5.1)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tailrace.simulation.laws import special
from tailrace.simulation.laws.law import Floats, Law, above_zero


class Levy(Law, frozen=True):
    """Density ∝ exp(-tau / 2x) / x^1.5 between `low` and `high`.

    Without an upper end its mean is infinite. `tau = 12`, `high = 45` (minutes) is the thesis's
    LTB.
    """

    tau: float
    high: float = math.inf
    low: float = 0.0

    def __post_init__(self) -> None:
        above_zero(tau=self.tau)
        if not 0 <= self.low < self.high:
            raise ValueError(f"it goes from {self.low:g} to {self.high:g}, which leaves nothing")
        if not self._mass(self.low) < self._mass(self.high):
            ends = f"from {self.low:g} to {self.high:g}"
            raise ValueError(f"with a tau of {self.tau:g} nothing of it is {ends}")

    def quantile(self, u: Floats) -> Floats:
        first, last = self._mass(self.low), self._mass(self.high)
        root = np.asarray(special.erfcinv(first + u * (last - first)))
        with np.errstate(divide="ignore"):
            return np.clip(self.tau / (2 * root**2), self.low, self.high)

    def cdf(self, x: Floats) -> Floats:
        held = np.clip(x, self.low, self.high)
        with np.errstate(divide="ignore"):
            mass = np.asarray(special.erfc(np.sqrt(self.tau / (2 * held))))
        first, last = self._mass(self.low), self._mass(self.high)
        return (mass - first) / (last - first)

    def mean(self) -> float:
        return self._between(self._first_moment)

    def variance(self) -> float:
        if math.isinf(self.high):
            return math.inf
        return self._between(self._second_moment) - self.mean() ** 2

    def _mass(self, x: float) -> float:
        """The whole Levy law's probability below x."""
        return math.erfc(math.sqrt(self.tau / (2 * x))) if x > 0 else 0.0

    def _first_moment(self, x: float) -> float:
        if math.isinf(x):
            return math.inf
        return math.sqrt(2 * self.tau * x / math.pi) * self._decay(x) - self.tau * self._mass(x)

    def _second_moment(self, x: float) -> float:
        head = math.sqrt(self.tau / (2 * math.pi)) * 2 / 3 * x * math.sqrt(x) * self._decay(x)
        return head - self.tau / 3 * self._first_moment(x)

    def _decay(self, x: float) -> float:
        return math.exp(-self.tau / (2 * x)) if x > 0 else 0.0

    def _between(self, moment: Callable[[float], float]) -> float:
        share = self._mass(self.high) - self._mass(self.low)
        return (moment(self.high) - moment(self.low)) / share
