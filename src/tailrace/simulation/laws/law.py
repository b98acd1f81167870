"""What every law of chance can do."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Law(msgspec.Struct, frozen=True):
    """A distribution on the real line. Durations are in seconds, everything else in its own unit.

    A draw takes exactly one uniform, so the n-th value of a stream stays the n-th when the law
    changes.
    """

    def quantile(self, u: Floats) -> Floats:
        """The smallest x with cdf(x) ≥ u; grows with u."""
        raise NotImplementedError

    def cdf(self, x: Floats) -> Floats:
        raise NotImplementedError

    def mean(self) -> float:
        raise NotImplementedError

    def variance(self) -> float:
        raise NotImplementedError

    def draw(self, u: Floats) -> Floats:
        """Values for uniforms: the quantiles, unless a law has a faster way of its own."""
        return self.quantile(u)

    def sd(self) -> float:
        return math.sqrt(self.variance())


def above_zero(**parameters: float) -> None:
    for name, value in parameters.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value:g}, but must be above 0")


def finite(**parameters: float) -> None:
    for name, value in parameters.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}, but must be a number")
