"""As many machines of each admitted pool as it lends, but no more than there is work for.

A free pool has a machine for each task without a result, so that one that dies is replaced before
its task waits. One with a price has those that are at work, and more for what waits.
"""

from __future__ import annotations

from tailrace.pools.terms import Pool
from tailrace.scheduler import demand, fleet, lifetimes
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import Bag, State


def admitted(state: State, bag: Bag) -> list[Pool]:
    """In the order of the bag. With replication those that fail come first: whether a reliable one
    is wanted depends on what they lend."""
    if not bag.runs:
        return []
    names = bag.terms.pools or tuple(state.pools)
    pools = [state.pools[name] for name in names if name in state.pools]
    return pools if bag.replication is None else sorted(pools, key=lambda pool: pool.reliable)


def wanted(state: State, bag: Bag, pool: Pool, there: list[LeaseRow]) -> int:
    """`there` are the bag's leases that stand in this pool."""
    if not pool.billing.price:
        return min(pool.max, bag.terms.count - bag.done.count)
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
