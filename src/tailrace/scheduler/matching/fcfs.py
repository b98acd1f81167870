"""First come, first served: bags in the order they came, offers in the order they were made."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tailrace.scheduler import admission, fleet
from tailrace.scheduler.state import Bag, Host, State

Pick = tuple[Host, Bag, int]


def pick(state: State, offers: Collection[Host]) -> Iterator[Pick]:
    """Host, bag, how many of its tasks. Each pick is carried out before the next is asked for."""
    if len(offers) == 1:
        return _serve(state, next(iter(offers)))
    return _feed(state, offers)


def _serve(state: State, host: Host) -> Iterator[Pick]:
    """One offer, as most are: the bags are asked in turn, until the host is full."""
    served = False
    for bag in fleet.hungry(state):
        if served and admission.is_full(state, host):
            return
        count = admission.room(state, bag, host)
        if count > 0:
            served = True
            yield host, bag, count


def _feed(state: State, offers: Collection[Host]) -> Iterator[Pick]:
    """Many offers: the hosts are asked in turn, until the bag is sated."""
    for bag in fleet.hungry(state):
        for host in offers:
            count = admission.room(state, bag, host)
            if count > 0:
                yield host, bag, count
                if not bag.hungry:
                    break
