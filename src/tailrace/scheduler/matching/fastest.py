"""The next task goes to the fastest host: the one that would run it fastest beside what it holds,
and of those the one that holds least. With the longest or the shortest tasks first it is MaxMax or
MinMax; in the order of their arrival, FJBCR.

In the thesis every host has one core, and each of its n tasks has `speed / n` (4.4.1). Here it has
several, and a task is slowed down only if all together need more than there are.

The fastest is known only when all are compared: each time tasks arrive, every idle host that is
open to the bag is looked at once, and those that are sent something again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heapreplace
from typing import ClassVar

from tailrace.scheduler import admission, fleet
from tailrace.scheduler.matching.matching import Pick
from tailrace.scheduler.state import Bag, Host, State

Ranked = tuple[float, float, int, Host]  # its rank, and its place among the offers


class Fastest:
    by_host: ClassVar[bool] = False
    order: ClassVar[str] = "listed"

    def pick(self, state: State, bag: Bag, offers: Collection[Host]) -> Iterator[Pick]:
        heap = _ranked(state, bag, offers)
        heapify(heap)
        while heap and bag.hungry:
            *_, place, host = heap[0]
            before = len(host.live)
            if admission.room(state, bag, host) > 0:
                yield host, 1
            if len(host.live) > before:
                heapreplace(heap, (*_rank(state, bag, host), place, host))
            else:  # it is full, or nothing that waits may go there
                heappop(heap)


class LongestToFastest(Fastest):
    order: ClassVar[str] = "longest"


class ShortestToFastest(Fastest):
    order: ClassVar[str] = "shortest"


def _ranked(state: State, bag: Bag, offers: Collection[Host]) -> list[Ranked]:
    """Most hosts that are looked at are idle and have all cores that are needed: these are asked
    for nothing but their speed."""
    wanted, found = bag.terms.needs.get("cores", 0), list[Ranked]()
    for place, host in enumerate(offers):
        cores = host.cores
        if host.live or wanted > (host.capacity.get("cores", 0) if cores is None else cores):
            found.append((*_rank(state, bag, host), place, host))
        else:
            slowness = -host.speed
            found.append((slowness, slowness, place, host))
    return found


def _rank(state: State, bag: Bag, host: Host) -> tuple[float, float]:
    """The least first."""
    return -share(state, bag, host), -host.speed / (len(host.live) + 1)


def share(state: State, bag: Bag, host: Host) -> float:
    """At which speed a task of the bag would run there. A task that needs several cores runs at the
    speed of one when it has them all."""
    cores = host.capacity.get("cores", 0) if host.cores is None else host.cores
    wanted = bag.terms.needs.get("cores", 0)
    if host.live:
        wanted += fleet.used(state, host).get("cores", 0)
    return host.speed if wanted <= cores else host.speed * cores / wanted
