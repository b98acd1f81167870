"""As many machines of each admitted pool as it lends, but no more than there is work for.

A free pool has a machine for each task without a result, so that one that dies is replaced before
its task waits; so has one where only results cost. One whose machines have a price has those that
are at work, and more for what waits.
"""

from __future__ import annotations

from fractions import Fraction

from tailrace.pools.budget import paid_in
from tailrace.pools.terms import Pool
from tailrace.scheduler import asking, demand, fleet, lifetimes, money
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import Bag, State


def admitted(state: State, bag: Bag) -> list[Pool]:
    """The cheapest come first, so that a dearer one is asked for what they do not lend. With
    replication those that fail come before the others: whether a reliable one is wanted depends on
    what they lend."""
    if not bag.runs:
        return []
    pools = asking.pools_of(state, bag)
    if bag.rules is not None:
        pools = [pool for pool in pools if asking.asks(state, bag, pool)]
    pools = _cheapest_first(state, bag, pools) if len(pools) > 1 else pools
    return pools if bag.replication is None else sorted(pools, key=lambda pool: pool.reliable)


def _worth_having(state: State, bag: Bag, pool: Pool, there: list[LeaseRow]) -> int:
    """One for each task; where results are paid, no more than the budget pays for beside those that
    are at work."""
    tasks = bag.terms.count - bag.done.count
    if not pool.billing.by_result:
        return tasks
    busy = sum(fleet.busy(state, row) for row in there)
    return min(tasks, busy + money.payable(state, bag, pool.billing, pool.lease_us))


def _cheapest_first(state: State, bag: Bag, pools: list[Pool]) -> list[Pool]:
    """Prices in different units of money cannot be compared: then it is the order of the bag. One
    whose machines proved too small for a task is the last resort."""
    comparable = len(paid_in(pool.billing for pool in pools)) < 2

    def dearness(pool: Pool) -> tuple[bool, Fraction]:
        price = pool.billing.per_second() if comparable else Fraction(0)
        return demand.too_small(state, bag, pool), price

    return sorted(pools, key=dearness)


def wanted(state: State, bag: Bag, pool: Pool, there: list[LeaseRow]) -> int:
    """`there` are the bag's leases that stand in this pool."""
    if not pool.billing.by_lease:
        return min(pool.max, _worth_having(state, bag, pool, there))
    if demand.exceeds_all_room(state, bag, pool):
        return pool.max
    idle = dict.fromkeys(row.lease for row in there if _waits(state, bag, row))
    at_work = len(there) - len(idle)
    return min(pool.max, at_work + demand.machines(state, bag, pool, idle))


def _waits(state: State, bag: Bag, row: LeaseRow) -> bool:
    """For a task: neither at work, nor about to end before one could."""
    hosts = state.on_lease.get(row.lease, {}).values()
    ends = bool(hosts) and not any(lifetimes.fits(state, bag, host) for host in hosts)
    return not fleet.busy(state, row) and not ends
