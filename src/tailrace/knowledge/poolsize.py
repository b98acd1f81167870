"""How many hosts a pool really has for a bag: so many attempts were out at once.

As many are out on average as are sent in a time, times how long one is out (Little). It is measured
while there was enough to do, and after the pool has come up: in the second half of the time until
the tail. A host that takes several tasks at once counts as several.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tailrace.knowledge.sendings import Fate, Floats, Sendings

PARTS = 10  # of that time, whose means tell how sure it is
LEAST_S = 1e-6  # that it lasts: nothing is noted more finely


class PoolSize(msgspec.Struct, frozen=True):
    effective: float
    error: float  # standard error
    most: int  # at once, ever
    sent_per_s: float  # in that time …
    returned_per_s: float  # … as the results that came in it

    @property
    def hosts(self) -> int:
        return max(round(self.effective), 1)


def pool_size(sendings: Sendings, until_s: float | None = None) -> PoolSize | None:
    """`until_s`: when the tail began; else when the last was sent. None: it cannot be told, as all
    were sent at once, or of some it is not known how long they held their host."""
    if not sendings.count or np.isinf(sendings.took_s).any():
        return None
    last_s = float(sendings.sent_s[-1]) if until_s is None else until_s
    first_s = float(sendings.sent_s[0])
    if last_s - first_s < LEAST_S:
        return None
    edges = np.linspace((first_s + last_s) / 2, last_s, PARTS + 1)
    out = _mean_out(sendings, edges)
    return PoolSize(
        float(out.mean()),
        float(out.std(ddof=1)) / math.sqrt(PARTS),
        _most(sendings),
        _rate(sendings.sent_s, edges),
        _rate((sendings.sent_s + sendings.took_s)[sendings.how(Fate.RETURNED)], edges),
    )


def _mean_out(sendings: Sendings, edges: Floats) -> Floats:
    """In each part. Attempts that began before a moment, up to it, less those that ended."""
    ended_s = np.sort(sendings.sent_s + sendings.took_s)
    return np.diff(_passed(sendings.sent_s, edges) - _passed(ended_s, edges)) / np.diff(edges)


def _passed(ascending: Floats, moments: Floats) -> Floats:
    """How long it is since each of those before a moment, together."""
    so_far = np.concatenate(([0.0], np.cumsum(ascending)))
    before = np.searchsorted(ascending, moments)
    return np.asarray(before * moments - so_far[before])


def _most(sendings: Sendings) -> int:
    """What ends when another is sent makes room for it."""
    ended_s = sendings.sent_s + sendings.took_s
    times_s = np.concatenate((ended_s, sendings.sent_s))
    steps = np.concatenate((np.full(sendings.count, -1), np.ones(sendings.count, np.int64)))
    return int(np.cumsum(steps[np.lexsort((steps, times_s))]).max())


def _rate(times_s: Floats, edges: Floats) -> float:
    some = (times_s >= edges[0]) & (times_s < edges[-1])
    return float(some.sum() / (edges[-1] - edges[0]))
