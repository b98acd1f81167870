"""A law moved and stretched."""

from __future__ import annotations

from tailrace.simulation.laws.law import Floats, Law, above_zero, finite


class Changed(Law, frozen=True):
    """`at_least + factor * X`: a law that is not negative then gives at least `at_least`."""

    law: Law
    factor: float = 1.0
    at_least: float = 0.0

    def __post_init__(self) -> None:
        above_zero(factor=self.factor)
        finite(at_least=self.at_least)

    def quantile(self, u: Floats) -> Floats:
        return self.at_least + self.factor * self.law.quantile(u)

    def draw(self, u: Floats) -> Floats:
        return self.at_least + self.factor * self.law.draw(u)

    def cdf(self, x: Floats) -> Floats:
        return self.law.cdf((x - self.at_least) / self.factor)

    def mean(self) -> float:
        return self.at_least + self.factor * self.law.mean()

    def variance(self) -> float:
        return self.factor**2 * self.law.variance()
