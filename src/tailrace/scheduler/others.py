"""Is there another host for a task, where it has not failed?"""

from __future__ import annotations

from tailrace.bag.needs import Amounts, fits
from tailrace.policy.attributes import Plain
from tailrace.pools.terms import Pool
from tailrace.scheduler import asking, fleet, policies
from tailrace.scheduler.state import Bag, Host, State


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
    if bag.rules is not None:
        reliable = wants_reliable and keeps_to_reliable(state, bag)
        hosts = [host for host in state.able.values() if host.reliable or not reliable]
        return any(
            host.id not in than
            and _could(bag, host, needs or bag.terms.needs)
            and policies.would(state, bag, host, job)
            for host in hosts
        )
    if wants_reliable and keeps_to_reliable(state, bag):
        hosts = [host for host in state.able.values() if host.reliable]
    elif needs or state.choosy:
        hosts = list(state.able.values())
    else:
        return fleet.another_host(state, bag, than)
    wanted = needs or bag.terms.needs
    return any(
        host.id not in than and _could(bag, host, wanted) and policies.would(state, bag, host, job)
        for host in hosts
    )


def of_kind(
    state: State,
    bag: Bag,
    reliable: bool,
    needs: Amounts | None = None,
    than: tuple[str, ...] = (),
) -> bool:
    """An able host beside these that is reliable, or one that is not: a strategy that has chosen
    one kind must not wait for the other."""
    wanted = needs or bag.terms.needs
    return any(
        host.reliable is reliable and host.id not in than and _could(bag, host, wanted)
        and policies.would(state, bag, host)
        for host in state.able.values()
    )  # fmt: skip


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
    if not pools:
        return False
    return any(fleet.slots(bag, one) and one.reliable for one in state.able.values())


def _lets(state: State, bag: Bag, pool: Pool) -> bool:
    if bag.rules is None:
        return True
    return any(asking.could(state, bag, pool, job) for job in asking.jobs_of(bag))
