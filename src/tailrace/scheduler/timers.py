"""What is to be looked at again, and when."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum


class Alarm(IntEnum):
    TIMEOUT = 0  # of an attempt
    TRIAL = 1  # a trial task has run long enough
    READMIT = 2  # an excluded host may be probed
    LEASE = 3  # a lease comes to its end
    REPLICATE = 6  # a replication strategy looks at its bag again
    ROUND = 7  # a bag's tasks may be matched
    ACQUIRE = 4  # a pool may be asked again
    DOUBT = 5  # a host held back from a bag may try one of its tasks
    UNIT = 8  # a lease is about to enter another paid unit


Key = int | str
FEW = 1000
NEVER = 1 << 63


class Timers:
    """A heap of moments. Most time-outs are set and never needed: they are void when their attempt
    has ended, and are swept out together when they are more than half. `next_us` is never that of a
    void one, so that nobody wakes for nothing."""

    __slots__ = ("_count", "_heap", "_void", "next_us")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Alarm, Key]] = []
        self._count = 0
        self._void: dict[Key, None] = {}  # attempts whose time-out is still in the heap
        self.next_us = NEVER

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, at_us: int, alarm: Alarm, key: Key) -> None:
        self._count += 1
        heapq.heappush(self._heap, (at_us, self._count, alarm, key))
        if at_us < self.next_us:
            self.next_us = at_us

    def _look(self) -> None:
        heap, void, timeout = self._heap, self._void, Alarm.TIMEOUT
        while heap and heap[0][2] is timeout and heap[0][3] in void:
            del void[heapq.heappop(heap)[3]]
        self.next_us = heap[0][0] if heap else NEVER

    def due(self, now: int) -> Iterator[tuple[Alarm, Key]]:
        while self._heap and self._heap[0][0] <= now:
            _, _, alarm, key = heapq.heappop(self._heap)
            self._look()
            yield alarm, key

    def coming(self) -> Iterator[tuple[int, Alarm, Key]]:
        """The next first; some may turn out to hold no longer."""
        for at_us, _, alarm, key in sorted(self._heap):
            yield at_us, alarm, key

    def void(self, attempt: int) -> None:
        """Its time-out holds no longer."""
        void = self._void
        void[attempt] = None
        if self._heap and self._heap[0][3] == attempt:
            self._look()
        elif len(void) > FEW and len(void) > len(self._heap) // 2:
            self._sweep()

    def _sweep(self) -> None:
        void, timeout = self._void, Alarm.TIMEOUT
        self._heap = [i for i in self._heap if i[2] is not timeout or i[3] not in void]
        heapq.heapify(self._heap)
        void.clear()
        self._look()
