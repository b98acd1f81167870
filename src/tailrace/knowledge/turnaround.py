"""F_s: how long attempts take, from sending to result, that do return."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tailrace.errors import BadInput
from tailrace.knowledge import student
from tailrace.knowledge.incidence import incidence
from tailrace.knowledge.sendings import Fate, Floats, Sendings

MOST_POINTS = 1000
LEVEL = 0.95
ENOUGH = 5  # results, before which a mean says too little
PRIOR_WORTH = 30  # results of its own that count as much as another run's shape


class Turnaround(msgspec.Struct, frozen=True, eq=False):
    """A step function: what takes at most `values_s[k]` is the share `upto[k]`."""

    values_s: Floats  # ascending
    upto: Floats  # ascending; the last is 1
    count: int  # results from which it is known; 0: it was given
    error_s: float  # standard error of its mean

    @property
    def weights(self) -> Floats:
        return np.diff(self.upto, prepend=0.0)

    @property
    def mean_s(self) -> float:
        return float(self.values_s @ self.weights)

    @property
    def deviation_s(self) -> float:
        return _deviation(self.values_s, self.weights)

    def share(self, within_s: Floats | float) -> Floats:
        """F_s(t), for each t."""
        place = np.searchsorted(self.values_s, within_s, side="right")
        return np.asarray(np.concatenate(([0.0], self.upto))[place])

    def interval_s(self, level: float = LEVEL) -> tuple[float, float]:
        """Of the mean, without drawing anything: Student's, moved by the skewness of what is
        measured (Johnson), since turnarounds have a long tail to one side."""
        if self.count == 0:
            return self.mean_s, self.mean_s
        if self.count == 1:
            return 0.0, math.inf
        half = student.quantile(self.count - 1, level) * self.error_s
        middle = self.mean_s + _skew(self.values_s, self.weights) / self.count
        return max(middle - half, 0.0), middle + half

    def points(self, most: int = MOST_POINTS) -> Floats:
        """Values that are all as probable, with the very mean: what was measured, or, if that is
        too much or of unequal weight, the means of `most` equal parts."""
        if self.values_s.size <= most and _equal(self.weights):
            return self.values_s.copy()
        so_far = np.concatenate(([0.0], np.cumsum(self.values_s * self.weights)))
        cuts = np.interp(np.linspace(0, 1, most + 1), np.concatenate(([0.0], self.upto)), so_far)
        return np.maximum.accumulate(np.diff(cuts) * most)  # rounding must not turn them round

    def scaled(self, mean_s: float) -> Turnaround:
        """The same shape with another mean."""
        factor = mean_s / self.mean_s
        return Turnaround(
            self.values_s * factor, self.upto, self.count, self.error_s * abs(factor)
        )  # fmt: skip


def of_results(sendings: Sendings) -> Turnaround:
    """From the results that are here, as in ExPERT. While others are out it tells too short
    turnarounds, for those that are out take longer."""
    values_s = np.sort(sendings.took_s[sendings.how(Fate.RETURNED)])
    _refuse_none(values_s, sendings)
    upto = np.arange(1, values_s.size + 1) / values_s.size
    return _measured(values_s, upto, values_s.size)


def of_all(sendings: Sendings) -> Turnaround:
    """With regard to those that are still out."""
    _refuse_none(sendings.took_s[sendings.how(Fate.RETURNED)], sendings)
    found = incidence(sendings)
    some = found.returned > 0
    upto = np.cumsum(found.returned[some])
    return _measured(found.times_s[some], upto / upto[-1], sendings.returned)


def given(values_s: Floats) -> Turnaround:
    """Somebody says that they are like this: all as probable."""
    ascending = np.sort(np.asarray(values_s, np.float64))
    if not ascending.size or not np.isfinite(ascending).all() or ascending[0] < 0:
        raise BadInput(
            "turnarounds must be numbers of seconds, not below 0, and at least one",
            remedy="Leave out what never came back: that is told by the reliability.",
        )
    upto = np.arange(1, ascending.size + 1) / ascending.size
    return Turnaround(ascending, upto, 0, 0.0)


def mixed(own: Turnaround | None, other: Turnaround, mean_s: float | None = None) -> Turnaround:
    """Own results in the shape of another run. Of n own results each counts 1/(n + 30), and that
    shape, which has the bag's own mean, 30/(n + 30). The mean is `mean_s`, if that is known; else
    that of the own results from five on; before, the other run's."""
    count = 0 if own is None else own.count
    mean = mean_s if mean_s is not None else own.mean_s if own and count >= ENOUGH else None
    shape = other if mean is None else other.scaled(mean)
    if own is None or not count:
        return _with_error(shape, count)
    part = own if mean_s is None else own.scaled(mean_s)
    worth = count / (count + PRIOR_WORTH)
    values_s = np.concatenate((part.values_s, shape.values_s))
    weights = np.concatenate((part.weights * worth, shape.weights * (1 - worth)))
    order = np.argsort(values_s, kind="stable")
    upto = np.cumsum(weights[order])
    return _with_error(Turnaround(values_s[order], upto / upto[-1], count, 0.0), count)


def _with_error(found: Turnaround, count: int) -> Turnaround:
    """As far as own results tell; without any the mean may be anywhere among the values."""
    error_s = found.deviation_s / math.sqrt(max(count, 1))
    return Turnaround(found.values_s, found.upto, max(count, 1), error_s)


def _measured(values_s: Floats, upto: Floats, count: int) -> Turnaround:
    spread = _deviation(values_s, np.diff(upto, prepend=0.0))
    error_s = spread / math.sqrt(count - 1) if count > 1 else math.inf
    return Turnaround(values_s, upto, count, error_s)


def _refuse_none(returned: Floats, sendings: Sendings) -> None:
    if returned.size:
        return
    if not sendings.count:
        raise BadInput("nothing was sent yet", remedy="Let the bag run until results are there.")
    raise BadInput(
        f"none of {sendings.count:,} attempts returned a result: how long one takes is not known",
        remedy="Let it run until results are there, or give turnarounds of another run.",
    )


def _deviation(values_s: Floats, weights: Floats) -> float:
    return math.sqrt(max(float((values_s - values_s @ weights) ** 2 @ weights), 0.0))


def _skew(values_s: Floats, weights: Floats) -> float:
    """μ₃ / (6 σ²), in seconds."""
    apart = values_s - values_s @ weights
    square = float(apart**2 @ weights)
    return float(apart**3 @ weights) / (6 * square) if square > 0 else 0.0


def _equal(weights: Floats) -> bool:
    return bool(np.allclose(weights, 1 / weights.size, rtol=1e-9, atol=0.0))
