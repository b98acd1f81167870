"""First come, first served: bags in the order they came, offers in the order they were made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tailrace.scheduler import dispatch
from tailrace.scheduler.state import Bag, Host, State

Pick = tuple[Host, Bag, int]


def pick(state: State, offers: Iterable[Host]) -> Iterator[Pick]:
    """Each pick is carried out before the next is asked for."""
    waiting = list(offers)
    for bag in list(state.bags.values()):
        if not bag.hungry:
            continue
        for host in waiting:
            yield from _fill(state, bag, host)
            if _sated(bag):
                break


def _sated(bag: Bag) -> bool:
    return not bag.hungry


def _fill(state: State, bag: Bag, host: Host) -> Iterator[Pick]:
    count = dispatch.room(state, bag, host)
    while count > 0:
        index = dispatch.next_task(state, bag, host)
        if index is None:
            return
        yield host, bag, index
        count = count - 1 if count > 1 else dispatch.room(state, bag, host)
