"""Which strategies are looked at."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from tailrace.planning.strategy import ROUNDED, Strategy

STEP = 0.02  # of Mr, as in the paper (6.2)
MOST_RATIOS = 25
LONGEST = 4  # mean turnarounds, of D


def paper(t_ur_s: float, mr_max: float, most: int = MOST_RATIOS) -> list[Strategy]:
    """ExPERT 4.5: N = 0 … 3, five points of D within 4 T_ur, five of T within D: with five ratios
    420 strategies. With D = 0 all unreliable attempts are given up at once."""
    return _grid((0, 1, 2, 3), 5, t_ur_s, ratios(mr_max, STEP, most))


def fine(t_ur_s: float, mr_max: float) -> list[Strategy]:
    """Nine points of each, N up to 5, and all N without end, which need no reliable host."""
    found = _grid((0, 1, 2, 3, 4, 5), 9, t_ur_s, ratios(mr_max, STEP / 2))
    return [*found, *endless(9, t_ur_s)]


def ratios(mr_max: float, step: float, most: int = MOST_RATIOS) -> list[float]:
    """From one step to the highest, that included; at most so many."""
    if mr_max <= 0:
        return []
    count = min(max(math.floor(round(mr_max / step, 9)), 1), most)
    found = np.linspace(mr_max / count if count == most else step, mr_max, count)
    return [_rounded(float(ratio), mr_max) for ratio in (found if count > 1 else [mr_max])]


def _rounded(ratio: float, most: float) -> float:
    """Not beyond the most: that might be a whole host more."""
    found = round(ratio, ROUNDED)
    return found if found <= most else round(found - 10**-ROUNDED, ROUNDED)


def _grid(
    copies: tuple[int, ...], points: int, t_ur_s: float, mrs: list[float]
) -> list[Strategy]:  # fmt: skip
    return [Strategy(n, t, d, mr) for n, mr, (t, d) in product(copies, mrs, _times(points, t_ur_s))]


def endless(points: int, t_ur_s: float) -> list[Strategy]:
    """Those that never use a reliable host."""
    return [Strategy(None, t, d, 0.0) for t, d in _times(points, t_ur_s) if d > t_ur_s]


def _times(points: int, t_ur_s: float) -> list[tuple[float, float]]:
    """T and D: so many points of D, and so many of T for each. Where D is 0, T is, too."""
    found = [(0.0, 0.0)]
    for d in np.linspace(0.0, LONGEST * t_ur_s, points)[1:].tolist():
        found += [(t, d) for t in np.linspace(0.0, d, points).tolist()]
    return found
