"""Student's t, for intervals around a mean, without SciPy, whose import outlasts many a run.

Abramowitz and Stegun: 26.7.3 and 26.7.4, a finite sum, up to some degrees of freedom; beyond, the
expansion 26.7.5, which is exact there to more digits than anybody reads.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

MANY = 200  # degrees of freedom
HALVINGS = 200


@lru_cache(maxsize=1024)
def quantile(degrees: int, level: float) -> float:
    """So far from 0 to either side lies the share `level` of all values."""
    if degrees > MANY:
        return _expanded(degrees, NormalDist().inv_cdf((1 + level) / 2))
    low, high = 0.0, math.pi / 2  # of the angle: its tangent has no bound
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _within(middle, degrees) < level:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """The share between minus and plus `tan(angle) * sqrt(degrees)`."""
    odd = degrees % 2
    term = total = math.cos(angle) if odd else 1.0
    for step in range(2 + odd, degrees - 1, 2):
        term *= (step - 1) / step * math.cos(angle) ** 2
        total += term
    if not odd:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + (math.sin(angle) * total if degrees > 1 else 0.0))


def _expanded(degrees: int, z: float) -> float:
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / degrees + second / degrees**2 + third / degrees**3 + fourth / degrees**4
