"""Which hosts are there, and for whom. The counts are kept up to date, never taken anew: an offer
costs the same with ten hosts and ten thousand."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable

from tailrace.bag.needs import Amounts, times
from tailrace.scheduler import kin, looking, openings, policies, units, wanting
from tailrace.scheduler.kin import Kin
from tailrace.scheduler.lines import Lines
from tailrace.scheduler.rows import STANDING, HostRow, LeaseRow
from tailrace.scheduler.state import ENDED, Bag, Host, State
from tailrace.scheduler.timers import Alarm


def admits_pool(bag: Bag, host: Host) -> bool:
    """Where results are paid, a machine is for those of the bag that leased it."""
    if host.payer is not None and host.payer != bag.id:
        return False
    return not bag.terms.pools or host.pool in bag.terms.pools


def admitted(state: State, bag: Bag) -> Iterable[str]:
    """The pools in which hosts have come, and the bag may go."""
    names = bag.terms.pools
    return [name for name in names if name in state.hungry] if names else state.hungry


def slots(bag: Bag, host: Host) -> int:
    """Tasks of this bag that the host runs at once; none if it may not."""
    return times(bag.terms.needs, host.capacity) if admits_pool(bag, host) else 0


def seen(state: State, row: HostRow) -> Host:
    """A host calls, or calls again and may have changed."""
    host = state.hosts.get(row.host)
    if host is None:
        host = state.hosts[row.host] = Host(row)
    _count_out(state, host)
    move_to_lease(state, host, row.lease)
    openings.move(state, host, row.pool)
    if row.pool not in state.hungry:
        _first_of(state, row.pool)
        _compare(state, row)
    host.pool, host.kind, host.capacity, host.speed = row.pool, row.kind, row.capacity, row.speed
    if any(row.capacity.values()):
        host.whole = state.capacity_in[host.pool] = row.capacity
    host.present, host.retired = True, not stands(state, row.lease)
    host.payer = payer(state, row.lease)
    rate(state, host)
    _count_in(state, host)
    return host


def _first_of(state: State, pool: str) -> None:
    waiting = [bag for bag in state.bags.values() if bag.queued]
    here = [bag for bag in waiting if not bag.terms.pools or pool in bag.terms.pools]
    state.hungry[pool] = sorted(bag.id for bag in here)
    lines = state.lines[pool] = Lines(state.scale)
    for bag in here:
        lines.add(bag, _rank(bag))


def _compare(state: State, row: HostRow) -> None:
    """Leases may have been reckoned by what its pool said of machines that had not called yet."""
    pool = state.pools.get(row.pool)
    if pool is not None and pool.capacity and pool.capacity != row.capacity:
        state.fleet_due.update(dict.fromkeys(state.open))


def rate(state: State, host: Host) -> None:
    pool = state.pools.get(host.pool)
    host.reliable = is_reliable(state, host.pool)
    host.min_timeout_us = 0 if pool is None else pool.min_timeout_us


def is_reliable(state: State, name: str) -> bool:
    """A pool that nobody described is taken for that."""
    pool = state.pools.get(name)
    return pool is None or pool.reliable


def payer(state: State, lease: int | None) -> int | None:
    row = None if lease is None else state.leases.get(lease)
    return row.bag if row is not None and row.billing.by_result else None


def stands(state: State, lease: int | None) -> bool:
    """A machine of one's own needs no lease."""
    if lease is None:
        return True
    return lease in state.leases and state.leases[lease].state in STANDING


def busy(state: State, row: LeaseRow) -> bool:
    """Does some host of this lease hold anything? Asked of each lease again and again: no `any`,
    which takes twice as long for one host."""
    for host in state.on_lease.get(row.lease, {}).values():  # noqa: SIM110
        if host.live:
            return True
    return False


def retire(state: State, host: Host) -> None:
    """Its lease has been released: what is sent now would only be ended with it."""
    _count_out(state, host)
    host.retired = True
    _one_less(state)


def take_back(state: State, host: Host) -> None:
    """Its lease was about to be given back, and is wanted after all."""
    host.retired = False
    _count_in(state, host)
    state.supply = True


def move_to_lease(state: State, host: Host, lease: int | None) -> None:
    if host.lease is not None:
        state.on_lease.get(host.lease, {}).pop(host.id, None)
        units.fell_idle(state, host.lease)
    host.lease = lease
    if lease is not None:
        state.on_lease.setdefault(lease, {})[host.id] = host


def leave(state: State, host: Host) -> None:
    """Silent, or gone."""
    _count_out(state, host)
    host.present = False
    openings.close(state, host)
    _one_less(state)


def _one_less(state: State) -> None:
    """What the host would have taken may go to one that was avoided so far, or held back."""
    state.supply = state.supply or bool(state.excluded)
    for bag in state.open.values():
        if bag.requeue.groups or bag.doubts or bag.replication is not None:
            looking.look_now(state, bag)


def exclude(state: State, host: Host, until_us: int) -> None:
    _count_out(state, host)
    host.excluded_until_us, host.probing, host.probe = until_us, False, 0
    state.excluded[host.id] = host
    state.timers.set(until_us, Alarm.READMIT, host.id)
    state.supply = True


def readmit(state: State, host: Host) -> None:
    """Its time is over, or it is needed: one task at a time, until one succeeds."""
    if state.excluded.pop(host.id, None) is not None:
        host.probing = True
        _count_in(state, host)
        state.supply = True


def _count_in(state: State, host: Host) -> None:
    if host.able or not host.present or host.excluded or host.retired:
        return
    host.able = True
    state.able[host.id] = host
    state.able_in[host.pool] = state.able_in.get(host.pool, 0) + 1
    for bag in state.open.values():
        count = slots(bag, host)
        bag.hosts += count > 0
        bag.slots += count
        if bag.refused:
            looking.stirred(state, bag)  # with another host its tail may have begun
    state.resized = True
    looking.stir_others(state)


def _count_out(state: State, host: Host) -> None:
    if not host.able:
        return
    host.able = False
    del state.able[host.id]
    state.able_in[host.pool] -= 1
    for bag in state.open.values():
        count = slots(bag, host)
        bag.hosts -= count > 0
        bag.slots -= count
        if count and not bag.hosts:
            state.fleet_due[bag.id] = None
    state.resized = True
    looking.stir_others(state)


def readmit_the_last(state: State, bags: Collection[Bag]) -> None:
    """Nobody is left for a bag but hosts that are excluded: better one of those than none."""
    for host in [host for host in state.excluded.values() if host.present]:
        if any(_has_nobody_else(state, bag, host) for bag in bags):
            readmit(state, host)


def _has_nobody_else(state: State, bag: Bag, host: Host) -> bool:
    """Its policy may send all others away."""
    if not bag.runs or not slots(bag, host):
        return False
    if bag.rules is None or not bag.hosts:
        return not bag.hosts
    waits = bag.hungry and not bag.live
    return waits and policies.would(state, bag, host) and not _matching(state, bag, host)


def _matching(state: State, bag: Bag, but: Host) -> bool:
    """Is there another host that the bag's policy takes?"""
    return any(
        host is not but and slots(bag, host) and policies.would(state, bag, host)
        for host in state.able.values()
    )


def is_last(state: State, host: Host) -> bool:
    """Would some bag have no host without this one?"""
    if not host.able:
        return False
    return len(state.able) == 1 or any(
        _is_last_of(state, bag, host) for bag in state.open.values() if slots(bag, host)
    )


def _is_last_of(state: State, bag: Bag, host: Host) -> bool:
    if bag.rules is None or bag.hosts == 1:
        return bag.hosts == 1
    return policies.would(state, bag, host) and not _matching(state, bag, host)


def opened(state: State, bag: Bag) -> None:
    """The bag has begun, or has work again."""
    if bag.id not in state.open:
        state.open[bag.id] = bag
        if bag.rules is not None:
            bag.rules.kept.clear()  # hosts may have changed meanwhile
        wanting.enter(state, bag)
        counts = [slots(bag, host) for host in state.able.values()]
        bag.hosts, bag.slots = sum(count > 0 for count in counts), sum(counts)
        if len(state.open) == 2:
            _stand_anew(state)
    state.fleet_due[bag.id] = None
    queue(state, bag)


def _stand_anew(state: State) -> None:
    """Where a bag stands alone, nobody looks at what it holds any more."""
    for lines in state.lines.values():
        for other in state.open.values():
            lines.move_up(other)


def closed(state: State, bag: Bag) -> None:
    """The bag runs no longer; for good, or until its owner says so."""
    if bag.phase in ENDED:
        state.open.pop(bag.id, None)
        wanting.leave(state, bag)
        looking.forget(state, bag)
        for lines in state.lines.values():
            lines.leave(bag)
    sated(state, bag)
    state.fleet_due[bag.id] = None


def queue(state: State, bag: Bag) -> None:
    """Work has come, as a rule."""
    if bag.rules is not None:
        kin.look(state, bag)
    if not bag.queued:
        if bag.hungry:
            _enter(state, bag)
    elif len(state.open) > 1:
        _move_up(state, bag)
    lacks(state, bag)
    looking.look_now(state, bag)
    if bag.rules is not None:
        policies.matches_nobody(state, bag)  # until one is found


def _enter(state: State, bag: Bag) -> None:
    bag.queued = True
    state.queued += 1
    rank = _rank(bag)
    for name in admitted(state, bag):
        insort(state.hungry[name], bag.id)
        state.lines[name].add(bag, rank)
    looking.stir_others(state)


def _move_up(state: State, bag: Bag) -> None:
    """An attempt came back that took less than was reckoned."""
    rank = _rank(bag)
    for name in admitted(state, bag) if rank is not None else ():
        if len(state.hungry[name]) > 1:
            state.lines[name].enter(bag, rank or 0.0)


def _rank(bag: Bag) -> float | Kin | None:
    """None: it is not the same for every host, at any time, and nobody looks as this one does."""
    rules = bag.rules
    if rules is None:
        return 0.0
    return rules.kin if rules.rank is None else rules.rank


def queue_anew(state: State, bag: Bag) -> None:
    """Its rank has changed."""
    for lines in state.lines.values():
        lines.leave(bag)
    if bag.queued:
        sated(state, bag)
        queue(state, bag)


def lacks(state: State, bag: Bag) -> None:
    """It may want more machines than it did."""
    if bag.lean:
        state.fleet_due[bag.id] = None


def sated(state: State, bag: Bag) -> None:
    if bag.queued:
        bag.queued = False
        state.queued -= 1
        for name in admitted(state, bag):
            numbers = state.hungry[name]
            del numbers[bisect_left(numbers, bag.id)]
        looking.stir_others(state)


def hungry(state: State, pools: list[str]) -> list[Bag]:
    """Those that have something to send to hosts of these pools, in the order they came."""
    found = state.hungry[pools[0]] if len(pools) == 1 else _of_all(state, pools)
    bags = [state.bags[number] for number in found]
    hungry = [bag for bag in bags if bag.hungry]
    if len(hungry) < len(bags):
        for bag in bags:
            if not bag.hungry:
                sated(state, bag)
    return hungry


def _of_all(state: State, pools: list[str]) -> list[int]:
    return sorted(dict.fromkeys(number for pool in pools for number in state.hungry[pool]))


def earlier_hungry(state: State, bag: Bag, host: Host) -> bool:
    """Is there work for this host of a bag that came before?"""
    for number in state.hungry[host.pool]:
        if number >= bag.id:
            return False
        other = state.bags[number]
        if other.hungry and slots(other, host):
            return True
    return False


def used(state: State, host: Host) -> dict[str, int]:
    """What is believed to be taken by all that the host holds."""
    taken: dict[str, int] = {}
    for number, count in host.plain.items():
        _add(taken, state.bags[number].terms.needs, count)
    for attempt in host.grown.values():
        _add(taken, attempt.needs or {}, 1)
    return taken


def _add(taken: dict[str, int], needs: Amounts, count: int) -> None:
    for name, amount in needs.items():
        taken[name] = taken.get(name, 0) + amount * count


def another_host(state: State, bag: Bag, than: tuple[str, ...]) -> bool:
    """Is there an able host for tasks of this bag beside these?"""
    hosts = [state.able.get(name) for name in than]
    return bag.hosts > sum(1 for host in hosts if host is not None and slots(bag, host))
