"""Is there another host for a task, where it has not failed?"""

from __future__ import annotations

from tailrace.bag.needs import Amounts, fits
from tailrace.policy.attributes import Plain
from tailrace.scheduler import fleet, policies
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
    this one does."""
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
    elif needs:
        hosts = list(state.able.values())
    else:
        return fleet.another_host(state, bag, than)
    wanted = needs or bag.terms.needs
    return any(host.id not in than and _could(bag, host, wanted) for host in hosts)


def _could(bag: Bag, host: Host, needs: Amounts) -> bool:
    return fleet.admits_pool(bag, host) and fits(needs, host.capacity)


def keeps_to_reliable(state: State, bag: Bag) -> bool:
    """Do tasks that are wanted on a reliable pool wait for one? Not where the bag's strategy sends
    nothing there by itself: they could wait for ever."""
    if not has_reliable_pool(state, bag):
        return False
    return bag.replication is None or bag.replication.admits_first(state, bag, reliable=True)


def has_reliable_pool(state: State, bag: Bag) -> bool:
    """One that lends machines, or whose machines have come by themselves."""
    names = bag.terms.pools or tuple(state.pools)
    pools = [state.pools[name] for name in names if name in state.pools]
    if any(pool.reliable and pool.max > 0 for pool in pools):
        return True
    if not any(pool.reliable for pool in pools):
        return False
    return any(fleet.slots(bag, one) and one.reliable for one in state.able.values())
