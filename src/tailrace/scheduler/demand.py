"""Tasks that wait, as a number of machines of a pool: what is worth a price.

Room that is there already is used first, wherever it is. But a task that failed somewhere, has
grown or is wanted on a reliable pool may not go there: for those each pool that could help counts.
What its owner will hand in later is not known, so it keeps no machine: waiting for it would cost a
unit for certain, getting one back costs a start-up.
"""

from __future__ import annotations

from collections.abc import Container

from tailrace.bag.needs import less, times
from tailrace.pools.terms import Pool
from tailrace.scheduler import doubts, fleet, others
from tailrace.scheduler.state import Bag, Host, State


def waits(state: State, bag: Bag, pool: Pool) -> int:
    """Attempts that could begin on another machine of this pool."""
    return _anywhere(state, bag, pool) + _not_anywhere(state, bag, pool)


def exceeds_all_room(state: State, bag: Bag, pool: Pool) -> bool:
    """So much that nobody need be counted: all that the pool lends would be at work at once."""
    return _anywhere(state, bag, pool) - bag.slots >= pool.max * _worth(state, bag, pool)


def machines(state: State, bag: Bag, pool: Pool, idle: Container[int]) -> int:
    """Of this pool, for what waits: its idle leases that the bag pays, or more."""
    tasks = max(_anywhere(state, bag, pool) - _room(state, bag, idle), 0)
    tasks += _not_anywhere(state, bag, pool)
    return -(-tasks // _worth(state, bag, pool))


def _anywhere(state: State, bag: Bag, pool: Pool) -> int:
    plain = bag.requeue.plain
    if bag.replication is None:
        return bag.fresh.left + plain
    wanted = 0 if pool.reliable else bag.replication.lacks(bag, reliable=False)
    if bag.replication.begins_on(state, bag, reliable=pool.reliable):
        wanted += bag.fresh.left + plain
    return wanted


def _not_anywhere(state: State, bag: Bag, pool: Pool) -> int:
    bound = bag.requeue.bound
    if bag.requeue.reliable and (pool.reliable or not others.has_reliable_pool(state, bag)):
        bound += bag.requeue.reliable
    if bag.replication is not None and pool.reliable:
        bound += bag.replication.lacks(bag, reliable=True)
    return bound


def _worth(state: State, bag: Bag, pool: Pool) -> int:
    """Tasks that a machine of this pool runs at once: as the last one that called, else one."""
    capacity = state.capacity_in.get(pool.name)
    return 1 if capacity is None else max(times(bag.terms.needs, capacity), 1)


def _room(state: State, bag: Bag, idle: Container[int]) -> int:
    """On all hosts but those of these leases. Most hold as much as their pool's machines do, and
    are not looked at closely."""
    needs = bag.terms.needs
    most = {pool: max(times(needs, has), 1) for pool, has in state.capacity_in.items()}
    hosts = [host for host in state.able.values() if len(host.live) < most.get(host.pool, 1)]
    return sum(_free(state, bag, host) for host in hosts if host.lease not in idle)


def _free(state: State, bag: Bag, host: Host) -> int:
    slots = fleet.slots(bag, host)
    if not slots or (bag.doubts and doubts.held_back(state, bag, host)):
        return 0
    if bag.replication is not None and not bag.replication.admits_first(state, bag, host.reliable):
        return 0
    if not host.live:
        return slots
    return max(times(bag.terms.needs, less(host.capacity, fleet.used(state, host))), 0)
