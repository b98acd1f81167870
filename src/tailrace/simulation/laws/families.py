"""Families with a formula: constant, uniform, exponential, Weibull, gamma, normal, lognormal."""

from __future__ import annotations

import math

import numpy as np

from tailrace.simulation.laws import gammatable, special
from tailrace.simulation.laws.law import Floats, Law, above_zero, finite

LAST_BELOW_ONE = math.nextafter(1.0, 0.0)


class Constant(Law, frozen=True):
    value: float

    def __post_init__(self) -> None:
        finite(value=self.value)

    def quantile(self, u: Floats) -> Floats:
        return np.full_like(u, self.value)

    def cdf(self, x: Floats) -> Floats:
        return np.where(x >= self.value, 1.0, 0.0)

    def mean(self) -> float:
        return self.value

    def variance(self) -> float:
        return 0.0


class Uniform(Law, frozen=True):
    """Between two bounds; equal bounds make it a constant, as in DSiDE's samples."""

    low: float
    high: float

    def __post_init__(self) -> None:
        finite(low=self.low, high=self.high)
        if self.high < self.low:
            raise ValueError(f"it goes from {self.low:g} to {self.high:g}, which is less")

    def quantile(self, u: Floats) -> Floats:
        return self.low + u * (self.high - self.low)

    def cdf(self, x: Floats) -> Floats:
        if self.low == self.high:
            return Constant(self.low).cdf(x)
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def mean(self) -> float:
        return (self.low + self.high) / 2

    def variance(self) -> float:
        return (self.high - self.low) ** 2 / 12


class Exponential(Law, frozen=True):
    scale: float  # the mean

    def __post_init__(self) -> None:
        above_zero(mean=self.scale)

    def quantile(self, u: Floats) -> Floats:
        return -self.scale * np.log1p(-u)

    def cdf(self, x: Floats) -> Floats:
        return -np.expm1(-np.maximum(x, 0.0) / self.scale)

    def mean(self) -> float:
        return self.scale

    def variance(self) -> float:
        return self.scale**2


class Weibull(Law, frozen=True):
    """A shape below 1 is a failure rate that falls with age, as most machines have it."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        above_zero(shape=self.shape, scale=self.scale)

    @classmethod
    def with_mean(cls, mean: float, shape: float) -> Weibull:
        above_zero(mean=mean, shape=shape)
        return cls(shape, mean / math.gamma(1 + 1 / shape))

    @classmethod
    def with_mean_sd(cls, mean: float, sd: float) -> Weibull:
        above_zero(mean=mean, sd=sd)
        return cls.with_mean(mean, _weibull_shape(sd / mean))

    def quantile(self, u: Floats) -> Floats:
        return self.scale * (-np.log1p(-u)) ** (1 / self.shape)

    def cdf(self, x: Floats) -> Floats:
        return -np.expm1(-((np.maximum(x, 0.0) / self.scale) ** self.shape))

    def mean(self) -> float:
        return self.scale * math.gamma(1 + 1 / self.shape)

    def variance(self) -> float:
        return self.scale**2 * math.gamma(1 + 2 / self.shape) - self.mean() ** 2


class Gamma(Law, frozen=True):
    shape: float
    scale: float

    def __post_init__(self) -> None:
        above_zero(shape=self.shape, scale=self.scale)

    @classmethod
    def with_mean(cls, mean: float, shape: float) -> Gamma:
        above_zero(mean=mean, shape=shape)
        return cls(shape, mean / shape)

    @classmethod
    def with_mean_sd(cls, mean: float, sd: float) -> Gamma:
        above_zero(mean=mean, sd=sd)
        return cls((mean / sd) ** 2, sd**2 / mean)

    def quantile(self, u: Floats) -> Floats:
        return self.scale * np.asarray(special.gammaincinv(self.shape, u))

    def draw(self, u: Floats) -> Floats:
        if not gammatable.LEAST_SHAPE <= self.shape <= gammatable.LARGEST_SHAPE:
            return self.quantile(u)
        return self.scale * gammatable.quantiles(self.shape, u)

    def cdf(self, x: Floats) -> Floats:
        return np.asarray(special.gammainc(self.shape, np.maximum(x, 0.0) / self.scale))

    def mean(self) -> float:
        return self.shape * self.scale

    def variance(self) -> float:
        return self.shape * self.scale**2


class Normal(Law, frozen=True):
    """A normal law given that it is above `low`, which is 0 unless another is named.

    A duration below zero is not drawn again and not raised to zero: the part of the bell below
    `low` is cut off and the rest carries all the probability. `mu` and `sigma` are those of the
    whole bell; `mean` and `variance` those of what is left. `low = -inf` keeps all of it.
    """

    mu: float
    sigma: float
    low: float = 0.0

    def __post_init__(self) -> None:
        finite(mean=self.mu)
        above_zero(sd=self.sigma)
        if self._kept() == 0.0:
            raise ValueError(f"nothing of it is above {self.low:g}: its mean is too far below")

    def quantile(self, u: Floats) -> Floats:
        return np.maximum(self.mu + self.sigma * self._standard(u), self.low)

    def cdf(self, x: Floats) -> Floats:
        z = (np.maximum(x, self.low) - self.mu) / self.sigma
        if self._cut() < 0:
            return np.asarray((special.ndtr(z) - self._lost()) / self._kept())
        return np.asarray(1.0 - special.ndtr(-z) / self._kept())

    def mean(self) -> float:
        return self.mu + self.sigma * self._hazard()

    def variance(self) -> float:
        hazard, cut = self._hazard(), self._cut()
        slope = cut * hazard if math.isfinite(cut) else 0.0
        return self.sigma**2 * (1 + slope - hazard**2)

    def _standard(self, u: Floats) -> Floats:
        """By the tail that is the smaller one at the cut, where a float has digits to spare."""
        if self._cut() < 0:
            share = self._lost() + u * self._kept()  # may round to 1, where there is no quantile
            return np.asarray(special.ndtri(np.minimum(share, LAST_BELOW_ONE)))
        return np.asarray(-special.ndtri((1 - u) * self._kept()))

    def _cut(self) -> float:
        return (self.low - self.mu) / self.sigma

    def _lost(self) -> float:
        return float(special.ndtr(self._cut()))

    def _kept(self) -> float:
        return float(special.ndtr(-self._cut()))

    def _hazard(self) -> float:
        return math.exp(-(self._cut() ** 2) / 2) / math.sqrt(2 * math.pi) / self._kept()


class Lognormal(Law, frozen=True):
    """`mu` and `sigma` are those of the logarithm, of seconds where durations are meant."""

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        finite(mu=self.mu)
        above_zero(sigma=self.sigma)

    @classmethod
    def with_median(cls, median: float, sigma: float) -> Lognormal:
        above_zero(median=median)
        return cls(math.log(median), sigma)

    @classmethod
    def with_mean_sd(cls, mean: float, sd: float) -> Lognormal:
        above_zero(mean=mean, sd=sd)
        square = math.log1p((sd / mean) ** 2)
        return cls(math.log(mean) - square / 2, math.sqrt(square))

    def quantile(self, u: Floats) -> Floats:
        with np.errstate(over="ignore"):  # infinity is the right answer there
            return np.exp(self.mu + self.sigma * np.asarray(special.ndtri(u)))

    def cdf(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(x, 0.0))
        return np.asarray(special.ndtr((logs - self.mu) / self.sigma))

    def mean(self) -> float:
        return math.exp(self.mu + self.sigma**2 / 2)

    def variance(self) -> float:
        return math.expm1(self.sigma**2) * self.mean() ** 2


def _weibull_shape(variation: float) -> float:
    """The shape with this ratio of deviation to mean; it falls as the ratio grows."""
    from scipy.optimize import brentq

    def excess(log_shape: float) -> float:
        k = math.exp(log_shape)
        return math.lgamma(1 + 2 / k) - 2 * math.lgamma(1 + 1 / k) - math.log1p(variation**2)

    try:
        return math.exp(brentq(excess, math.log(0.05), math.log(1e4), xtol=1e-13))
    except ValueError:
        raise ValueError(
            f"no Weibull law has a deviation of {variation:g} times its mean; give its shape"
        ) from None
