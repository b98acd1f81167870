"""Tasks that wait, as a number of machines of a pool: what is worth a price.

Room that is there already is used first, wherever it is: a machine is leased only for what no able
host with room may be sent. But a task that is kept for a reliable pool may not go everywhere, nor
one that failed somewhere or has grown: for those each pool that could help counts. Nor is one
leased for what machines of other pools will do that are on their way.
What its owner will hand in later is not known, so it keeps no machine: waiting for it would cost a
unit for certain, getting one back costs a start-up.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.bag.needs import times
from tailrace.pools.terms import Pool
from tailrace.scheduler import asking, others
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.room import Room
from tailrace.scheduler.rows import ON_THEIR_WAY
from tailrace.scheduler.state import Bag, State


def waits(state: State, bag: Bag, pool: Pool) -> int:
    """Attempts that could begin on another machine of this pool."""
    return min(_unsent(state, bag, pool) + _wanted_on_reliable(bag, pool), bag.may_begin)


def exceeds_all_room(state: State, bag: Bag, pool: Pool) -> bool:
    """So much that nobody need be counted: all that the pool lends would be at work at once."""
    unsent = min(_unsent(state, bag, pool), bag.may_begin)
    unsent -= bag.slots + sum(_coming(state, bag, pool).values())
    return unsent >= pool.max * _worth(state, bag, pool)


def machines(state: State, bag: Bag, pool: Pool, idle: dict[int, None]) -> int:
    """Of this pool, for what waits: its idle leases that the bag pays, or more."""
    room = Room(state, bag, idle)
    groups, beside = _groups(state, bag, pool), _beside(state, bag, pool)
    placed = _placed(room, groups, beside)
    bound = sum(groups.values()) + sum(beside.values()) - placed
    plain = min(_anywhere(state, bag, pool), bag.may_begin)
    tasks = max(plain - max(room.all() - placed, 0), 0) + bound
    wanted = _wanted_on_reliable(bag, pool)
    if wanted:
        tasks += max(wanted - room.on_reliable(), 0)
    tasks = min(tasks, bag.may_begin)
    tasks -= min(_coming_for(state, bag, pool, tasks, groups), tasks)
    worth = _worth(state, bag, pool)
    of_bound = -(-min(bound, tasks) // worth)
    more = _avoided(state, groups | beside, idle) if of_bound else 0
    return max(-(-tasks // worth), of_bound + more)


def _avoided(state: State, groups: dict[Group, int], idle: Iterable[int]) -> int:
    """Of the idle leases: those that help none of these tasks, which all failed there, or are."""
    first = next(iter(groups))
    common = [host for host in first.avoid if all(host in group.avoid for group in groups)]
    hosts = [state.on_lease.get(lease) for lease in idle] if common else []
    return sum(1 for there in hosts if there and all(host in common for host in there))


def _coming_for(state: State, bag: Bag, pool: Pool, tasks: int, groups: dict[Group, int]) -> int:
    """How many of the tasks will begin on machines of other pools. Some wait for reliable ones."""
    coming, kept = _coming(state, bag, pool), 0
    if coming[False] and others.keeps_to_reliable(state, bag):
        kept = sum(count for group, count in groups.items() if group.reliable)
    return min(coming[False], max(tasks - kept, 0)) + coming[True]


def _coming(state: State, bag: Bag, pool: Pool) -> dict[bool, int]:
    """Tasks that machines of other pools will run at once which the bag has asked for, and which
    have not called yet; by: reliable."""
    found = {False: 0, True: 0}
    for lease in bag.leases:
        row = state.leases[lease]
        if row.pool != pool.name and row.pool in state.pools and row.state in ON_THEIR_WAY:
            other = state.pools[row.pool]
            if _share_work(state, bag, pool, other) and not too_small(state, bag, other):
                found[other.reliable] += _worth(state, bag, other)
    return found


def _share_work(state: State, bag: Bag, one: Pool, other: Pool) -> bool:
    """Some replication has work of their own for those that fail and for those that do not; and so
    have some policies."""
    if not asking.share(state, bag, one, other):
        return False
    if bag.replication is None or one.reliable is other.reliable:
        return True
    return all(bag.replication.begins_on(state, bag, reliable=kind) for kind in (False, True))


def too_small(state: State, bag: Bag, pool: Pool) -> bool:
    """As far as the last machine of it that called can tell, or its terms."""
    return _at_once(state, bag, pool) == 0


def _unsent(state: State, bag: Bag, pool: Pool) -> int:
    return _anywhere(state, bag, pool) + _not_anywhere(state, bag, pool)


def _anywhere(state: State, bag: Bag, pool: Pool) -> int:
    plain = bag.requeue.plain + asking.could_begin(state, bag, pool)
    if bag.replication is None:
        return plain
    wanted = 0 if pool.reliable else bag.replication.lacks(bag, reliable=False)
    if bag.replication.begins_on(state, bag, reliable=pool.reliable):
        wanted += plain
    return wanted


def _wanted_on_reliable(bag: Bag, pool: Pool) -> int:
    if bag.replication is None or not pool.reliable:
        return 0
    return bag.replication.lacks(bag, reliable=True)


def _not_anywhere(state: State, bag: Bag, pool: Pool) -> int:
    """Tasks for which not every host will do, but machines of this pool might."""
    if bag.rules is not None:
        return sum(_groups(state, bag, pool).values()) + sum(_beside(state, bag, pool).values())
    requeue = bag.requeue
    if not requeue.groups or not _begins(state, bag, pool):
        return 0
    return requeue.bound + (requeue.reliable if _helps_all(state, bag, pool) else 0)


def _begins(state: State, bag: Bag, pool: Pool) -> bool:
    replication = bag.replication
    return replication is None or replication.begins_on(state, bag, reliable=pool.reliable)


def _helps_all(state: State, bag: Bag, pool: Pool) -> bool:
    return pool.reliable or not others.keeps_to_reliable(state, bag)


def _groups(state: State, bag: Bag, pool: Pool) -> dict[Group, int]:
    """Of those that wait, for which not every host will do: those that the pool may help."""
    groups = bag.requeue.groups
    if not groups or not _begins(state, bag, pool):
        return {}
    if not _helps_all(state, bag, pool):
        groups = {group: count for group, count in groups.items() if not group.reliable}
    return _allowed(state, bag, pool, groups)


def _beside(state: State, bag: Bag, pool: Pool) -> dict[Group, int]:
    """The same of what a bag's policy wants beside attempts that are out."""
    groups = {} if bag.replication is None else bag.replication.groups(bag)
    return _allowed(state, bag, pool, groups)


def _allowed(state: State, bag: Bag, pool: Pool, groups: dict[Group, int]) -> dict[Group, int]:
    """By the bag's policy, which is asked once for all that look alike."""
    if bag.rules is None or not bag.rules.job_keys:
        return groups
    jobs = dict.fromkeys(group.job for group in groups)
    may = {job: asking.could(state, bag, pool, job) for job in jobs}
    return {group: count for group, count in groups.items() if may[group.job]}


def _placed(room: Room, groups: dict[Group, int], beside: dict[Group, int]) -> int:
    """How many of them find room. Those that may go to the fewest hosts are asked first; should two
    groups reckon with the same host, the next look shows who was left."""
    placed = 0
    for group in sorted(groups, key=lambda group: not group.reliable):
        placed += max(min(groups[group], room.of(group), room.all(group) - placed), 0)
    for group, count in beside.items():
        placed += max(min(count, room.beside(group), room.all(group) - placed), 0)
    return placed


def _worth(state: State, bag: Bag, pool: Pool) -> int:
    """Tasks that a machine of this pool runs at once; one, where nobody knows."""
    known = _at_once(state, bag, pool)
    return 1 if known is None else max(known, 1)


def _at_once(state: State, bag: Bag, pool: Pool) -> int | None:
    """As the last machine that called; before any has, by what the pool's terms say of them. These
    may leave things out that a machine has: how much memory, say. Concurrency bounds it."""
    needs, capacity = bag.terms.needs, state.capacity_in.get(pool.name)
    if capacity is not None:
        return min(times(needs, capacity), asking.most(state, bag, pool))
    if "cores" not in pool.capacity:
        return None
    told = {name: amount for name, amount in needs.items() if name in pool.capacity}
    return min(times(told, pool.capacity), asking.most(state, bag, pool))
