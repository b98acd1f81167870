"""What is to be looked at again, and when."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum
from operator import itemgetter


class Alarm(IntEnum):
    TIMEOUT = 0  # of an attempt
    TRIAL = 1  # a trial task has run long enough
    READMIT = 2  # an excluded host may be probed
    LEASE = 3  # a lease comes to its end
    REPLICATE = 6  # a replication strategy looks at its bag again
    ROUND = 7  # a bag's tasks may be matched
    ACQUIRE = 4  # a pool may be asked again
    DOUBT = 5  # a host held back from a bag may try one of its tasks
    POLICY = 9  # a bag whose policy sent hosts away looks again
    UNMATCHED = 10  # a bag of which nothing is out, because policies send hosts away
    PLAN = 11  # a bag in its tail asks for another plan
    UNIT = 8  # a lease is about to enter another paid unit


TIMEOUT = Alarm.TIMEOUT  # looked up for every attempt
Key = int | str
Entry = tuple[int, int, Alarm, Key]  # when, the how manieth that was set
FEW = 1000
NEVER = 1 << 63


class Timers:
    """A heap of moments, and behind its horizon those that wait unsorted. Most time-outs are set
    and never needed: mostly their attempt ends while they wait, and they are gone at no cost. Those
    in the heap are void then, and are swept out together when they are more than half. When the
    heap is empty, the sooner half of those that wait comes into it. `next_us` is never that of a
    void one, so that nobody wakes for nothing."""

    __slots__ = ("_count", "_heap", "_horizon_us", "_later", "_void", "next_us")

    def __init__(self) -> None:
        self._heap: list[Entry] = []  # empty only if nothing waits either
        self._horizon_us = 0
        self._later: dict[Key, Entry] = {}  # by attempt; other alarms by numbers below 0
        self._count = 0
        self._void: dict[Key, None] = {}  # attempts whose time-out is still in the heap
        self.next_us = NEVER

    def __len__(self) -> int:
        return len(self._heap) + len(self._later)

    def set(self, at_us: int, alarm: Alarm, key: Key) -> None:
        self._count = count = self._count + 1
        if at_us < self._horizon_us:
            heapq.heappush(self._heap, (at_us, count, alarm, key))
        else:
            self._later[key if alarm is TIMEOUT else -count] = (at_us, count, alarm, key)
        if at_us < self.next_us:
            self._look()

    def _look(self) -> None:
        heap, void = self._heap, self._void
        while heap and heap[0][2] is TIMEOUT and heap[0][3] in void:
            del void[heapq.heappop(heap)[3]]
        if not heap and self._later:
            heap = self._come_closer()
        self.next_us = heap[0][0] if heap else NEVER

    def _come_closer(self) -> list[Entry]:
        """A sorted list is a heap. Of equal moments those set first come first."""
        waiting = sorted(self._later.items(), key=itemgetter(1))
        half = (len(waiting) + 1) // 2
        self._heap = [entry for _, entry in waiting[:half]]
        self._later = dict(waiting[half:])
        self._horizon_us = waiting[min(half, len(waiting) - 1)][1][0]
        return self._heap

    def due(self, until_us: int) -> Iterator[tuple[Alarm, Key]]:
        while self._heap and self._heap[0][0] <= until_us:
            _, _, alarm, key = heapq.heappop(self._heap)
            self._look()
            yield alarm, key

    def coming(self) -> Iterator[tuple[int, Alarm, Key]]:
        """The next first; some may turn out to hold no longer."""
        for at_us, _, alarm, key in sorted([*self._heap, *self._later.values()]):
            yield at_us, alarm, key

    def void(self, attempt: int) -> None:
        """Its time-out holds no longer."""
        if self._later.pop(attempt, None) is not None:
            return
        void = self._void
        void[attempt] = None
        if self._heap and self._heap[0][3] == attempt:
            self._look()
        elif len(void) > FEW and len(void) > len(self._heap) // 2:
            self._sweep()

    def _sweep(self) -> None:
        void = self._void
        self._heap = [i for i in self._heap if i[2] is not TIMEOUT or i[3] not in void]
        heapq.heapify(self._heap)
        void.clear()
        self._look()
