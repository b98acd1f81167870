"""One strategy of NTDMr: how a tail is replicated."""

from __future__ import annotations

import math

import msgspec

ROUNDED = 9  # decimals, before the ceiling: 0.07 · 100 is 7.000000000000001 in binary


class Strategy(msgspec.Struct, frozen=True):
    """N attempts of a task on cheap hosts from the start of the tail, each T after the last and
    given up after D, then one on a dear host; of these at most Mr times as many as there are cheap
    ones. `n` None: without end, and none on a dear host."""

    n: int | None
    t_s: float
    d_s: float
    mr: float

    def dear_hosts(self, cheap: int) -> int:
        return math.ceil(round(self.mr * cheap, ROUNDED))

    def __str__(self) -> str:
        n = "inf" if self.n is None else self.n
        return f"N={n} T={self.t_s:g} D={self.d_s:g} Mr={self.mr:g}"
