"""A clock that goes through the busy hours of a day slowly, so that more happens in them."""

from __future__ import annotations

import math

import numpy as np

from tailrace.simulation.laws import Floats

_DAY_S = 86_400.0


class Cycle:
    """Between time on the wall and elapsed time, which grows in each slot by its weight.

    A day on the wall is a day of elapsed time as well.
    """

    def __init__(self, weights: tuple[float, ...]) -> None:
        if not weights or any(not 0 <= w < math.inf for w in weights) or sum(weights) <= 0:
            raise ValueError("the weights of a day must be numbers from 0, not all of them 0")
        self._wall = np.linspace(0.0, _DAY_S, len(weights) + 1)
        self._elapsed = np.concatenate(([0.0], np.cumsum(weights))) / sum(weights) * _DAY_S

    def clock(self, elapsed: Floats) -> Floats:
        return _by_day(elapsed, self._elapsed, self._wall)

    def elapsed(self, clock: Floats) -> Floats:
        return _by_day(clock, self._wall, self._elapsed)


def _by_day(at: Floats, known: Floats, wanted: Floats) -> Floats:
    days = np.floor(at / _DAY_S)
    return days * _DAY_S + np.interp(at - days * _DAY_S, known, wanted)
