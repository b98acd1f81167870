"""How much longer tasks take in a pool, told apart from which tasks went there.

The mean run time of a pool mixes both: whoever had the long tasks at the head of a sorted bag looks
slow. So tasks are compared in pairs, each with the nearest one before it, as they were sent,
that went to another pool, if it is near: of a bag in any order such two are as long as each other
but for chance. What counts is the median of the pairs' differences, of logarithms: one long task
moves no median. All pools are compared with the one that had most tasks.

What the hosts told of their speeds is taken out before. If they told any, a pool is what they say,
unless its pairs are further from that than chance brings them (a real program in a rehearsal does
not heed the speed). If they told none, nothing speaks for pools that are equal but that most are:
then what was found is taken, less what chance will have added to it, as James and Stein shrink
means. Of few pairs nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median, variance
from typing import NamedTuple

from tailrace.server.records.paces import ENOUGH, OF_MEDIANS, SURE, shrunk

NEAR = 0.1  # of all tasks: many are sent at once to one host, but a sorted bag changes on the way


class Ran(NamedTuple):
    """A task with a result."""

    pool: str
    speed: float  # that its host told
    run_us: int

    @property
    def log(self) -> float:
        """Of what it would have run at speed 1."""
        return math.log(max(self.run_us, 1) * self.speed)


def slopes(ran: Sequence[Ran]) -> dict[str, float]:
    """By pool: how many times as long tasks take there, beyond what the speeds say. In the order in
    which they were sent."""
    pools = [one.pool for one in ran]
    if not pools:
        return {}
    reference = max(dict.fromkeys(pools), key=pools.count)
    sure = SURE if any(one.speed != 1 for one in ran) else 1.0
    return {
        pool: 1.0 if pool == reference else math.exp(_apart(ran, pool, reference, sure))
        for pool in dict.fromkeys(pools)
    }


def _apart(ran: Sequence[Ran], pool: str, reference: str, sure: float) -> float:
    pairs = _pairs([one for one in ran if one.pool in (pool, reference)])
    found = [
        one.log - other.log if one.pool == pool else other.log - one.log for one, other in pairs
    ]
    if len(found) < ENOUGH:
        return 0.0
    return shrunk(median(found), OF_MEDIANS * variance(found) / len(found), sure)


def _pairs(ran: Sequence[Ran]) -> Iterator[tuple[Ran, Ran]]:
    """None is in two of them, so that their differences are independent."""
    reach = max(len(ran) * NEAR, ENOUGH)
    alone: list[int] = []  # all of one pool, those that are near
    for place, one in enumerate(ran):
        if alone and place - alone[-1] > reach:
            alone.clear()
        if alone and ran[alone[-1]].pool != one.pool:
            yield one, ran[alone.pop()]
        else:
            alone.append(place)
