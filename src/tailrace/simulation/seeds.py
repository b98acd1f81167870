"""Seeds of what draws by itself: the scheduler, and orders that are shuffled.

They are drawn like anything else, so that each run has its own, and a file of events names them.
"""

from __future__ import annotations

import numpy as np

from tailrace.simulation.draws import Draws
from tailrace.simulation.laws.law import Floats

SEEDS = 2**32  # a file of events has them as floats, which are exact far beyond


class _Whole:
    def draw(self, u: Floats) -> Floats:
        return np.floor(u * SEEDS)


def seed_of(draws: Draws) -> int:
    return int(draws.values(_Whole(), 1)[0])
