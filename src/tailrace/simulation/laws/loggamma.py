"""Values whose logarithm is a gamma: run times and gaps of the Lublin–Feitelson model."""

from __future__ import annotations

import math

import numpy as np

from tailrace.simulation.laws import gammatable, special
from tailrace.simulation.laws.law import Floats, Law, above_zero

_TABLED = 0.2  # with less than this kept below the limit, the table's range might not do


class LogGamma(Law, frozen=True):
    """`exp(G)` with G a gamma law, given that G is below `most`."""

    shape: float
    scale: float
    most: float

    def __post_init__(self) -> None:
        above_zero(shape=self.shape, scale=self.scale, most=self.most)

    def quantile(self, u: Floats) -> Floats:
        return np.exp(self.scale * np.asarray(special.gammaincinv(self.shape, u * self.kept())))

    def draw(self, u: Floats) -> Floats:
        if self.kept() < _TABLED or self.shape < gammatable.LEAST_SHAPE:
            return self.quantile(u)
        return np.exp(self.scale * gammatable.quantiles(self.shape, u * self.kept()))

    def cdf(self, x: Floats) -> Floats:
        logs = np.minimum(np.log(np.maximum(x, 1.0)), self.most)
        return np.asarray(special.gammainc(self.shape, logs / self.scale)) / self.kept()

    def mean(self) -> float:
        return self._moment(1)

    def variance(self) -> float:
        return self._moment(2) - self.mean() ** 2

    def kept(self) -> float:
        """How much of the gamma law is below the limit."""
        return float(special.gammainc(self.shape, self.most / self.scale))

    def _moment(self, power: int) -> float:
        """The mean of exp(power · G): itself an integral of a gamma's kind, up to the limit."""
        left = 1 / self.scale - power
        if left > 0:
            whole = math.pow(self.scale * left, -self.shape)
            return whole * float(special.gammainc(self.shape, self.most * left)) / self.kept()
        logs = self.shape * math.log(self.most / self.scale) - math.lgamma(self.shape + 1)
        growth = special.hyp1f1(self.shape, self.shape + 1, -left * self.most)
        return math.exp(logs) * float(growth) / self.kept()
