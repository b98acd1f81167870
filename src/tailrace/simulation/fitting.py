"""Laws fitted to observations by maximum likelihood, also where some are right-censored.

A censored observation says only that the value is greater, so it counts with the logarithm of the
probability of that. Exponential and Weibull fits then still have (nearly) a formula; lognormal and
gamma fits are searched for, from the fit that takes every value as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from tailrace.simulation.laws import Exponential, Floats, Gamma, Law, Lognormal, Weibull

Marks = Sequence[bool] | NDArray[np.bool_]


class Fit(msgspec.Struct, frozen=True):
    family: str
    law: Law
    log_likelihood: float
    parameters: int

    @property
    def aic(self) -> float:
        """Akaike's criterion; the less the better."""
        return 2 * self.parameters - 2 * self.log_likelihood


class Observed(msgspec.Struct, frozen=True, eq=False):
    """Values above zero, apart: those that ended, and those known to be longer."""

    ended: Floats
    longer: Floats

    @classmethod
    def of(cls, values: Sequence[float] | Floats, censored: Marks | None = None) -> Observed:
        seen = np.asarray(values, np.float64)
        open_ended = np.zeros(len(seen), bool) if censored is None else np.asarray(censored, bool)
        if len(seen) != len(open_ended):
            raise ValueError(f"there are {len(seen)} values but {len(open_ended)} marks")
        if not np.all((seen > 0) & (seen < math.inf)):
            raise ValueError("every value must be above 0; drop those of no length first")
        if len(np.unique(seen[~open_ended])) < 2:
            raise ValueError("a fit needs two different values that are not censored")
        return cls(seen[~open_ended], seen[open_ended])

    def all(self) -> Floats:
        return np.concatenate((self.ended, self.longer))


def fit(family: str, values: Sequence[float] | Floats, censored: Marks | None = None) -> Fit:
    return _fit(family, Observed.of(values, censored))


def fits(values: Sequence[float] | Floats, censored: Marks | None = None) -> list[Fit]:
    """Every family's, the best by Akaike's criterion first."""
    seen = Observed.of(values, censored)
    return sorted((_fit(family, seen) for family in FAMILIES), key=lambda one: one.aic)


def best_fit(values: Sequence[float] | Floats, censored: Marks | None = None) -> Fit:
    return fits(values, censored)[0]


def log_likelihood(law: Law, seen: Observed) -> float:
    density, survival = _LOGS[type(law)]
    return float(density(law, seen.ended).sum() + survival(law, seen.longer).sum())


def _fit(family: str, seen: Observed) -> Fit:
    law = FAMILIES[family](seen)
    return Fit(family, law, log_likelihood(law, seen), len(law.__struct_fields__))


def _exponential(seen: Observed) -> Exponential:
    return Exponential(float(seen.all().sum()) / len(seen.ended))


def _weibull(seen: Observed) -> Weibull:
    """The likelihood's derivative in the shape has one root; the scale follows from it."""
    longest = seen.all().max()
    every, goal = seen.all() / longest, float(np.log(seen.ended / longest).mean())
    logs = np.log(every)

    def slope(log_shape: float) -> float:
        powers = every ** math.exp(log_shape)
        return float(powers @ logs / powers.sum()) - math.exp(-log_shape) - goal

    shape = math.exp(optimize.brentq(slope, *_bracket(slope), xtol=1e-13))
    scale = longest * (np.sum(every**shape) / len(seen.ended)) ** (1 / shape)
    return Weibull(shape, float(scale))


def _lognormal(seen: Observed) -> Law:
    logs = np.log(seen.all())
    plain = Lognormal(float(logs.mean()), float(logs.std()))
    if not len(seen.longer):
        return plain
    start = (plain.mu, math.log(plain.sigma))
    return _searched(lambda mu, log_sigma: Lognormal(mu, math.exp(log_sigma)), start, seen)


def _gamma(seen: Observed) -> Law:
    plain = _plain_gamma(seen.all())
    if not len(seen.longer):
        return plain
    start = (math.log(plain.shape), math.log(plain.mean()))
    return _searched(lambda a, m: Gamma.with_mean(math.exp(m), math.exp(a)), start, seen)


def _plain_gamma(values: Floats) -> Gamma:
    """The mean is the sample's; the shape is where log(shape) − digamma(shape) meets the gap."""
    mean = float(values.mean())
    gap = math.log(mean) - float(np.log(values).mean())

    def excess(log_shape: float) -> float:
        return gap - log_shape + float(special.digamma(math.exp(log_shape)))

    shape = math.exp(optimize.brentq(excess, *_bracket(excess), xtol=1e-13))
    return Gamma.with_mean(mean, shape)


def _bracket(rising: Callable[[float], float]) -> tuple[float, float]:
    """Two logarithms of a shape between which a rising function changes its sign."""
    low, high = -1.0, 1.0
    while rising(low) > 0 and low > -20:
        low *= 2
    while rising(high) < 0 and high < 20:
        high *= 2
    return low, high


def _searched(make: Callable[..., Law], start: tuple[float, float], seen: Observed) -> Law:
    """From near the top, by the simplex method: it needs no derivatives of survival."""
    found = optimize.minimize(
        lambda point: -log_likelihood(make(*point.tolist()), seen),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-8, "maxiter": 2000},
    )
    return make(*found.x.tolist())


# For each family: the logarithm of its density, and of the probability of being longer.


def _exponential_density(law: Exponential, x: Floats) -> Floats:
    return -x / law.scale - math.log(law.scale)


def _exponential_survival(law: Exponential, x: Floats) -> Floats:
    return -x / law.scale


def _weibull_density(law: Weibull, x: Floats) -> Floats:
    ratio = np.log(x / law.scale)
    return math.log(law.shape / law.scale) + (law.shape - 1) * ratio - np.exp(law.shape * ratio)


def _weibull_survival(law: Weibull, x: Floats) -> Floats:
    return -((x / law.scale) ** law.shape)


def _lognormal_density(law: Lognormal, x: Floats) -> Floats:
    logs = np.log(x)
    score = (logs - law.mu) / law.sigma
    return -(score**2) / 2 - logs - math.log(law.sigma * math.sqrt(2 * math.pi))


def _lognormal_survival(law: Lognormal, x: Floats) -> Floats:
    return np.asarray(special.log_ndtr((law.mu - np.log(x)) / law.sigma))


def _gamma_density(law: Gamma, x: Floats) -> Floats:
    ratio = x / law.scale
    rest = math.lgamma(law.shape) + math.log(law.scale)
    return (law.shape - 1) * np.log(ratio) - ratio - rest


def _gamma_survival(law: Gamma, x: Floats) -> Floats:
    """Held above the smallest float: beyond it a search only needs to know that it is far off."""
    left = np.asarray(special.gammaincc(law.shape, x / law.scale))
    return np.asarray(np.log(np.maximum(left, 1e-300)))


FAMILIES: dict[str, Callable[[Observed], Law]] = {
    "exponential": _exponential,
    "weibull": _weibull,
    "lognormal": _lognormal,
    "gamma": _gamma,
}
_LOGS: dict[type, tuple[Callable[..., Floats], Callable[..., Floats]]] = {
    Exponential: (_exponential_density, _exponential_survival),
    Weibull: (_weibull_density, _weibull_survival),
    Lognormal: (_lognormal_density, _lognormal_survival),
    Gamma: (_gamma_density, _gamma_survival),
}
