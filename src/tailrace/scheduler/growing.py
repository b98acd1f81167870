"""`on_over_limit`: a task that passed its limit gets a larger one, up to a ceiling and to what the
largest host has."""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.bag.needs import fits
from tailrace.bag.terms import Growth
from tailrace.scheduler import fleet
from tailrace.scheduler.state import Bag, State, Trouble


def grow(state: State, bag: Bag, trouble: Trouble, limit: str) -> bool:
    """False when it may not grow, its ceiling is reached, or no host has more."""
    limits, needs = trouble.limits or bag.terms.limits, trouble.needs or bag.terms.needs
    field = "time_us" if limit == "time" else limit
    old: int | None = getattr(limits, field, None)
    if old is None:
        return False
    new = _larger(bag.terms.growth, limit, old)
    if new > needs.get(limit, new):
        new = min(new, _largest(state, bag, needs, limit, new))
        needs = {**needs, limit: max(new, needs[limit])}
    if new <= old:
        return False
    trouble.limits = replace(limits, **{field: new})
    trouble.needs = needs if needs != bag.terms.needs else None
    return True


def _larger(growth: Growth | None, limit: str, old: int) -> int:
    if growth is None or limit not in growth.grow:
        return old
    new = int(old * growth.factor)
    return min(new, growth.most.get(limit, new))


def _largest(state: State, bag: Bag, needs: dict[str, int], limit: str, wanted: int) -> int:
    """What a host could give to a task with these needs otherwise; stops looking at enough."""
    best = 0
    for host in state.able.values():
        if fleet.admits_pool(bag, host) and fits({**needs, limit: 0}, host.capacity):
            best = max(best, host.capacity.get(limit, 0))
            if best >= wanted:
                break
    return best
