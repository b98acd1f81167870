"""Pools whose machines a bag sent away when they had come.

Some things that policies look at are known only of a machine that has called: its name, its
processor, what its owner says. Where all that came were sent away, others will most likely be, too,
and each costs a unit. So while such a one stands no other is asked for; and when they have been
given back, one alone is, later each time, until one is taken.
"""

from __future__ import annotations

from tailrace.scheduler import asking
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import ENDLESS, Bag, State
from tailrace.scheduler.timers import Alarm

FIRST_PAUSE_US = 600_000_000
LONGEST_PAUSE_US = 24 * 3600 * 1_000_000


def given_back(state: State, bag: Bag, row: LeaseRow) -> None:
    """Idle to the end. Many that come and go together count once."""
    times, until_us = bag.shunned.get(row.pool, (0, 0))
    if state.now < until_us or not _told(state, row) or asking.useful(state, bag, [row]):
        return
    until_us = state.now + min(FIRST_PAUSE_US * 2**times, LONGEST_PAUSE_US)
    bag.shunned[row.pool] = (times + 1, until_us)
    state.timers.set(until_us, Alarm.ACQUIRE, row.pool)


def most_more(
    state: State, bag: Bag, pool: str, there: list[LeaseRow], useful: list[LeaseRow]
) -> int:
    """How many machines of the pool may be asked for beside those that are there."""
    if any(state.on_lease.get(row.lease) for row in useful):
        bag.shunned.pop(pool, None)
        return ENDLESS
    kept = dict.fromkeys(row.lease for row in useful)
    if any(_told(state, row) for row in there if row.lease not in kept):
        return 0
    if pool not in bag.shunned:
        return ENDLESS
    _, until_us = bag.shunned[pool]
    return 0 if useful or state.now < until_us else 1


def _told(state: State, row: LeaseRow) -> bool:
    """Does it tell what others would be? One that has worked may be sent away for what it did."""
    hosts = state.on_lease.get(row.lease, {}).values()
    return bool(hosts) and not any(host.proven for host in hosts)
