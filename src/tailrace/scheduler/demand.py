"""Tasks that wait, as a number of machines of a pool: what is worth a price.

Room that is there already is used first, wherever it is: a machine is leased only for what no able
host with room may be sent. But a task that is kept for a reliable pool may not go everywhere, nor
one that failed somewhere or has grown: for those each pool that could help counts.
What its owner will hand in later is not known, so it keeps no machine: waiting for it would cost a
unit for certain, getting one back costs a start-up.
"""

from __future__ import annotations

from collections.abc import Container

from tailrace.bag.needs import times
from tailrace.pools.terms import Pool
from tailrace.scheduler import others
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.room import Room
from tailrace.scheduler.state import Bag, State


def waits(state: State, bag: Bag, pool: Pool) -> int:
    """Attempts that could begin on another machine of this pool."""
    return min(_unsent(state, bag, pool) + _wanted_on_reliable(bag, pool), bag.may_begin)


def exceeds_all_room(state: State, bag: Bag, pool: Pool) -> bool:
    """So much that nobody need be counted: all that the pool lends would be at work at once."""
    unsent = min(_unsent(state, bag, pool), bag.may_begin)
    return unsent - bag.slots >= pool.max * _worth(state, bag, pool)


def machines(state: State, bag: Bag, pool: Pool, idle: Container[int]) -> int:
    """Of this pool, for what waits: its idle leases that the bag pays, or more."""
    room = Room(state, bag, idle)
    placed = _placed(room, _groups(state, bag, pool))
    tasks = max(min(_anywhere(state, bag, pool), bag.may_begin) - max(room.all() - placed, 0), 0)
    tasks += _not_anywhere(state, bag, pool) - placed
    wanted = _wanted_on_reliable(bag, pool)
    if wanted:
        tasks += max(wanted - room.on_reliable(), 0)
    return -(-min(tasks, bag.may_begin) // _worth(state, bag, pool))


def _unsent(state: State, bag: Bag, pool: Pool) -> int:
    return _anywhere(state, bag, pool) + _not_anywhere(state, bag, pool)


def _anywhere(state: State, bag: Bag, pool: Pool) -> int:
    plain = bag.requeue.plain
    if bag.replication is None:
        return bag.fresh.left + plain
    wanted = 0 if pool.reliable else bag.replication.lacks(bag, reliable=False)
    if bag.replication.begins_on(state, bag, reliable=pool.reliable):
        wanted += bag.fresh.left + plain
    return wanted


def _wanted_on_reliable(bag: Bag, pool: Pool) -> int:
    if bag.replication is None or not pool.reliable:
        return 0
    return bag.replication.lacks(bag, reliable=True)


def _not_anywhere(state: State, bag: Bag, pool: Pool) -> int:
    """Tasks for which not every host will do, but machines of this pool might."""
    requeue, replication = bag.requeue, bag.replication
    if not requeue.groups:
        return 0
    if replication and not replication.begins_on(state, bag, reliable=pool.reliable):
        return 0
    return requeue.bound + (requeue.reliable if _helps_all(state, bag, pool) else 0)


def _helps_all(state: State, bag: Bag, pool: Pool) -> bool:
    return pool.reliable or not others.keeps_to_reliable(state, bag)


def _groups(state: State, bag: Bag, pool: Pool) -> dict[Group, int]:
    if not _not_anywhere(state, bag, pool):
        return {}
    if _helps_all(state, bag, pool):
        return bag.requeue.groups
    return {group: count for group, count in bag.requeue.groups.items() if not group.reliable}


def _placed(room: Room, groups: dict[Group, int]) -> int:
    """How many of them find room. Those that may go to the fewest hosts are asked first; should two
    groups reckon with the same host, the next look shows who was left."""
    placed = 0
    for group in sorted(groups, key=lambda group: not group.reliable):
        placed += max(min(groups[group], room.of(group), room.all(group) - placed), 0)
    return placed


def _worth(state: State, bag: Bag, pool: Pool) -> int:
    """Tasks that a machine of this pool runs at once: as the last one that called, else one."""
    capacity = state.capacity_in.get(pool.name)
    return 1 if capacity is None else max(times(bag.terms.needs, capacity), 1)
