"""What share of attempts had returned, or failed, after how long, where of some the end is unknown.

Each that is still out stands for those that were out as long, and have ended since: the estimate of
Aalen and Johansen for two ways to end. Where all ends are known it is plain counting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.knowledge.sendings import Fate, Floats, Sendings


class Incidence(NamedTuple):
    """After `times_s`, ascending, this much more of all has returned, or failed."""

    times_s: Floats
    returned: Floats
    failed: Floats


def incidence(sendings: Sendings) -> Incidence:
    times_s, at = np.unique(sendings.took_s, return_inverse=True)
    returned, failed, out = (
        np.bincount(at, chosen, times_s.size)
        for chosen in (
            sendings.how(Fate.RETURNED),
            sendings.how(Fate.FAILED) | sendings.how(Fate.EXPIRED),
            sendings.how(Fate.OUT),
        )
    )
    ended = returned + failed
    there = np.cumsum((ended + out)[::-1])[::-1]  # so many were out so long
    if not out.any():
        return Incidence(times_s, returned / sendings.count, failed / sendings.count)
    left = np.cumprod(1 - ended / there)
    weight = np.concatenate(([1.0], left[:-1])) / there
    return Incidence(times_s, returned * weight, failed * weight)
