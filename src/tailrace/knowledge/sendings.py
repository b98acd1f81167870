"""Attempts as they were observed: sent, and what has been heard of them since.

Of some it is not known how they would have ended: they are still out, or were dropped when another
had the result. They have not failed; they are known to have been out for so long (censored).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Fate(IntEnum):
    RETURNED = 0
    FAILED = 1  # and somebody told
    EXPIRED = 2  # nobody told: its time-out passed, or there was none and it never came back
    OUT = 3  # it is not known how it would have ended


class Sending(NamedTuple):
    """One attempt. Times are in seconds, `sent_s` since its bag began."""

    pool: str
    sent_s: float
    took_s: float  # until its result was here, its failure known, or as far as it is known
    fate: Fate
    run_s: float = math.nan  # by the clock of its host


class Sendings(msgspec.Struct, frozen=True, eq=False):
    """Many, column by column, in the order in which they were sent."""

    pools: tuple[str, ...]  # names …
    pool: Ints  # … and of each attempt the number of its pool among them
    sent_s: Floats
    took_s: Floats
    fate: Ints
    run_s: Floats

    @property
    def count(self) -> int:
        return self.sent_s.size

    def how(self, fate: Fate) -> Bools:
        return np.asarray(self.fate == int(fate))

    @property
    def returned(self) -> int:
        return int(self.how(Fate.RETURNED).sum())

    def which(self, chosen: Bools | Ints) -> Sendings:
        return Sendings(
            self.pools, self.pool[chosen], self.sent_s[chosen], self.took_s[chosen],
            self.fate[chosen], self.run_s[chosen],
        )  # fmt: skip

    def of(self, *pools: str) -> Sendings:
        """Of these pools alone."""
        numbers = [n for n, name in enumerate(self.pools) if name in pools]
        return self.which(np.isin(self.pool, numbers))

    def as_of(self, moment_s: float) -> Sendings:
        """As it was known then: what was sent before, and of that what had been heard."""
        then = self.which(self.sent_s < moment_s)
        out_s = moment_s - then.sent_s
        open_ = then.took_s > out_s
        return Sendings(
            then.pools, then.pool, then.sent_s,
            np.where(open_, out_s, then.took_s),
            np.where(open_, int(Fate.OUT), then.fate),
            np.where(open_, math.nan, then.run_s),
        )  # fmt: skip

    def given_up(self, timeout_s: float) -> Sendings:
        """What has been out for its time-out will not return: it has failed then."""
        over = self.how(Fate.OUT) & (self.took_s >= timeout_s)
        expired = np.where(over, int(Fate.EXPIRED), self.fate)
        never = expired == Fate.EXPIRED
        took_s = np.where(never, np.minimum(self.took_s, timeout_s), self.took_s)
        return Sendings(self.pools, self.pool, self.sent_s, took_s, expired, self.run_s)


def gathered(sendings: Iterable[Sending]) -> Sendings:
    found = sorted(sendings, key=lambda one: one.sent_s)
    pools = {name: n for n, name in enumerate(dict.fromkeys(one.pool for one in found))}
    return Sendings(
        tuple(pools),
        np.array([pools[one.pool] for one in found], np.int64),
        np.array([one.sent_s for one in found], np.float64),
        np.array([one.took_s for one in found], np.float64),
        np.array([one.fate for one in found], np.int64),
        np.array([one.run_s for one in found], np.float64),
    )
