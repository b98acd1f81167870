"""Is there another host for a task, where it has not failed?"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.bag.needs import Amounts, fits
from tailrace.policy.attributes import Plain
from tailrace.pools.terms import Pool
from tailrace.scheduler import asking, fleet, policies
from tailrace.scheduler.state import Bag, Host, State

MOST_TAKERS = 8  # more than a task avoids, as a rule


def another(
    state: State,
    bag: Bag,
    than: tuple[str, ...],
    needs: Amounts | None = None,
    wants_reliable: bool = False,
    job: tuple[Plain, ...] = (),
) -> bool:
    """An able host beside these; for needs that have grown, or a task that is wanted on a reliable
    pool, not every host will do; nor those to which the bag's policy lets no task go that looks as
    this one does, or whose owners do not take the bag's."""
    if not fleet.another_host(state, bag, than):
        return False  # as most often, and at no cost
    reliable = wants_reliable and keeps_to_reliable(state, bag)
    if bag.rules is None and not (reliable or needs or state.choosy):
        return True
    wanted = needs or bag.terms.needs

    def takes(host: Host) -> bool:
        here = host.id not in than and (host.reliable or not reliable)
        return here and _could(bag, host, wanted) and policies.would(state, bag, host, job)

    return _is_one(state, bag, takes)


def _is_one(state: State, bag: Bag, takes: Callable[[Host], bool]) -> bool:
    """Those found before are asked first: all are looked at only where none of them will do."""
    known = bag.takers
    if any(takes(state.able[name]) for name in known if name in state.able):
        return True
    rest = (host for host in state.able.values() if host.id not in known)
    found = next((host for host in rest if takes(host)), None)
    if found is None:
        return False
    if len(known) >= MOST_TAKERS:
        del known[next(iter(known))]
    known[found.id] = None
    return True


def of_kind(
    state: State,
    bag: Bag,
    reliable: bool,
    needs: Amounts | None = None,
    than: tuple[str, ...] = (),
    job: tuple[Plain, ...] = (),
) -> bool:
    """An able host beside these that is reliable, or one that is not: a strategy that has chosen
    one kind must not wait for the other; nor for one to which the bag's policy lets no task go that
    looks as this one does."""
    wanted = needs or bag.terms.needs

    def takes(host: Host) -> bool:
        here = host.reliable is reliable and host.id not in than
        return here and _could(bag, host, wanted) and policies.would(state, bag, host, job)

    return _is_one(state, bag, takes)


def _could(bag: Bag, host: Host, needs: Amounts) -> bool:
    return fleet.admits_pool(bag, host) and fits(needs, host.capacity)


def keeps_to_reliable(state: State, bag: Bag) -> bool:
    """Do tasks that are wanted on a reliable pool wait for one? Not where the bag's strategy sends
    nothing there by itself: they could wait for ever."""
    if not has_reliable_pool(state, bag):
        return False
    return bag.replication is None or bag.replication.admits_first(state, bag, reliable=True)


def has_reliable_pool(state: State, bag: Bag) -> bool:
    """One that lends machines, or whose machines have come by themselves; and to which the bag's
    policy lets some task go."""
    names = bag.terms.pools or tuple(state.pools)
    pools = [state.pools[name] for name in names if name in state.pools]
    pools = [pool for pool in pools if pool.reliable and _lets(state, bag, pool)]
    if any(pool.max > 0 for pool in pools):
        return True
    there = (fleet.is_reliable(state, name) for name, count in state.able_in.items() if count)
    if not pools or not any(there):
        return False  # as for most bags, and at no cost
    return any(one.reliable and fleet.slots(bag, one) for one in state.able.values())


def _lets(state: State, bag: Bag, pool: Pool) -> bool:
    if bag.rules is None:
        return True
    return any(asking.could(state, bag, pool, job) for job in asking.jobs_of(bag))
