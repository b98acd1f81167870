"""The next task goes to the fastest host: the one whose speed, shared with what runs there and this
task, is greatest. With the longest or the shortest tasks first it is MaxMax or MinMax; in the order
of their arrival, FJBCR.

The fastest is known only when all are compared: each time tasks arrive, every idle host that is
open to the bag is looked at once, and those that are sent something again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heapreplace
from typing import ClassVar

from tailrace.scheduler import admission
from tailrace.scheduler.matching.matching import Pick
from tailrace.scheduler.state import Bag, Host, State


class Fastest:
    order: ClassVar[str] = "listed"

    def pick(self, state: State, bag: Bag, offers: Collection[Host]) -> Iterator[Pick]:
        heap = [(-share(host), place, host) for place, host in enumerate(offers)]
        heapify(heap)
        while heap and bag.hungry:
            _, place, host = heap[0]
            before = len(host.live)
            if admission.room(state, bag, host) > 0:
                yield host, 1
            if len(host.live) > before:
                heapreplace(heap, (-share(host), place, host))
            else:  # it is full, or nothing that waits may go there
                heappop(heap)


class LongestToFastest(Fastest):
    order: ClassVar[str] = "longest"


class ShortestToFastest(Fastest):
    order: ClassVar[str] = "shortest"


def share(host: Host) -> float:
    """What a task would get of it."""
    return host.speed / (len(host.live) + 1)
