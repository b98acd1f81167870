"""Which strategies are efficient: none other is better in time or cost and no worse in both.

Means over a few repetitions are uncertain. By them one strategy is called efficient or not; beside
that it is told of which others this may be chance alone, from the differences within repetitions.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.planning.estimate import Estimate, Samples
from tailrace.planning.strategy import Strategy

SURE = 2.0  # standard errors of a difference
TIME, COST = "tail_makespan", "cost_per_task"

AT_ONCE = 64  # strategies, so that what is compared fits in memory

Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
Floats = NDArray[np.float64]


class Point(msgspec.Struct, frozen=True):
    strategy: Strategy
    estimate: Estimate
    efficient: bool
    sure: bool  # it would hardly be otherwise with more repetitions


class Frontier(msgspec.Struct, frozen=True):
    points: tuple[Point, ...]  # all that were looked at, in the order of the grid

    def efficient(self) -> list[Point]:
        """The fastest first."""
        found = [point for point in self.points if point.efficient]
        return sorted(found, key=lambda point: point.estimate.tail_makespan.mean)

    def promising(self) -> list[Strategy]:
        """Which may be efficient, as far as chance lets one say."""
        return [one.strategy for one in self.points if one.efficient or not one.sure]


def frontier(samples: Samples, time: str = TIME) -> Frontier:
    times, costs = samples.of[time], samples.of[COST]
    kept = efficient(times.mean(axis=0), costs.mean(axis=0))
    sure = _sure(times, costs, kept)
    rows = zip(samples.strategies, samples.estimates(), kept.tolist(), sure.tolist(), strict=True)
    return Frontier(tuple(Point(*row) for row in rows))


def efficient(times: Floats, costs: Floats) -> Bools:
    """Sorted by time, each that is cheaper than all before. Of those that are alike in both the
    first counts: the others say the same with other words."""
    order = np.lexsort((np.arange(len(times)), costs, times))
    cheapest = np.minimum.accumulate(costs[order])
    kept = np.zeros(len(times), np.bool_)
    kept[order[0]] = True
    kept[order[1:]] = costs[order[1:]] < cheapest[:-1]
    return kept


def _sure(times: Floats, costs: Floats, kept: Bools) -> Bools:
    """An efficient one, that no other may dominate as well; another, that some efficient one beats
    it beyond chance in one and is not beaten in the other."""
    found = np.zeros(len(kept), np.bool_)
    best = np.flatnonzero(kept)
    for first in range(0, len(kept), AT_ONCE):
        some = np.arange(first, min(first + AT_ONCE, len(kept)))
        sooner, cheaper = _gain(times, some, best), _gain(costs, some, best)
        itself = some[:, None] == best
        apart = (sooner < -SURE) | (cheaper < -SURE) | itself
        beaten = ((sooner > SURE) & (cheaper > -SURE)) | ((cheaper > SURE) & (sooner > -SURE))
        found[some] = np.where(kept[some], apart.all(axis=1), beaten.any(axis=1))
    return found


def _gain(values: Floats, some: Places, best: Places) -> Floats:
    """By how many standard errors each of the best is lower, within repetitions."""
    gaps = values[:, some, None] - values[:, None, best]
    mean = gaps.mean(axis=0)
    count = len(gaps)
    se = gaps.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full_like(mean, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / se)
