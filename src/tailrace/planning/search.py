"""A search that looks closer where the frontier is: a grid first, then neighbours of what is
efficient, nearer with each round, until the frontier hardly moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from tailrace.planning.estimate import NAMES, Floats, Samples
from tailrace.planning.frontier import COST, TIME, Frontier, Point, efficient, frontier
from tailrace.planning.grids import LONGEST
from tailrace.planning.strategy import Strategy

Sampler = Callable[[Sequence[Strategy]], Samples]

ROUNDS = 8
POINTS = 4  # steps of the first grid, within the longest T and D
GAIN = 0.002  # of the area below the frontier, in one round, that is worth another
DIGITS = 9
TINY = 1e-9  # what costs nothing has no logarithm


def adaptive(
    first: Sequence[Strategy], sampler: Sampler, t_ur_s: float, mr_max: float,
    admits: Callable[[Strategy], bool] = lambda one: True,
) -> Frontier:  # fmt: skip
    """The first ones are of all N that are looked at, those without end among them."""
    samples = sampler(first)
    seen = {_known_by(one): None for one in samples.strategies}
    step_s, step_mr = LONGEST * t_ur_s / POINTS, mr_max / POINTS
    corner = _corner(samples)
    area = _area(samples, corner)
    for _ in range(ROUNDS):
        step_s, step_mr = step_s / 2, step_mr / 2
        near = list(_near(frontier(samples).efficient(), step_s, step_mr, t_ur_s, mr_max))
        new = [one for one in near if _known_by(one) not in seen and admits(one)]
        new = list({_known_by(one): one for one in new}.values())
        if not new:
            break
        seen.update(dict.fromkeys(map(_known_by, new)))
        samples = _joined(samples, sampler(new))
        before, area = area, _area(samples, corner)
        if area < before * (1 + GAIN):
            break
    return frontier(samples)


def _known_by(one: Strategy) -> tuple[object, ...]:
    return one.n, round(one.t_s, 3), round(one.d_s, 3), round(one.mr, DIGITS)


def _near(
    points: Sequence[Point], step_s: float, step_mr: float, t_ur_s: float, mr_max: float
) -> Iterator[Strategy]:  # fmt: skip
    """One parameter moved at a time; and T and D together, which may be held back by T ≤ D."""
    longest = LONGEST * t_ur_s
    for one in (point.strategy for point in points):
        for dt, dd in ((-1, 0), (1, 0), (0, -1), (0, 1), (1, 1), (-1, -1)):
            t, d = one.t_s + dt * step_s, one.d_s + dd * step_s
            if 0 <= t <= d <= longest:
                yield Strategy(one.n, t, d, one.mr)
        if one.n is None:
            continue
        for mr in (one.mr - step_mr, one.mr + step_mr):
            if 0 < mr <= mr_max:
                yield Strategy(one.n, one.t_s, one.d_s, round(mr, DIGITS))
        for n in (one.n - 1, one.n + 1):
            if n >= 0:
                yield Strategy(n, one.t_s, one.d_s, one.mr)


def _joined(a: Samples, b: Samples) -> Samples:
    """The same repetitions of more strategies."""
    joined = {name: np.concatenate((a.of[name], b.of[name]), axis=1) for name in NAMES}
    return Samples((*a.strategies, *b.strategies), joined)


def _corner(samples: Samples) -> tuple[float, float]:
    """Twice as slow and as dear as all that was looked at first, as logarithms."""
    time, cost = _logarithms(samples)
    return math.log(2) + float(np.max(time)), math.log(2) + float(np.max(cost))


def _area(samples: Samples, corner: tuple[float, float]) -> float:
    """Between the frontier and that corner. A gain of one in a hundred counts the same wherever it
    is made."""
    times, costs = _logarithms(samples)
    kept = efficient(times, costs)
    order = np.argsort(times[kept])
    edges = [*times[kept][order].tolist(), corner[0]]
    heights = (corner[1] - costs[kept][order]).tolist()
    strips = zip(pairwise(edges), heights, strict=True)
    return sum(((b - a) * high for (a, b), high in strips), 0.0)


def _logarithms(samples: Samples) -> tuple[Floats, Floats]:
    return np.log(samples.means(TIME) + TINY), np.log(samples.means(COST) + TINY)
