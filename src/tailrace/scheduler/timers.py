"""What is to be looked at again, and when."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator
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
    """A heap of moments. Who is called checks if it still holds: most are set and never needed, and
    are swept out together when they are more than half."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Alarm, Key]] = []
        self._count = 0
        self._void = 0
        self.next_us = NEVER

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, at_us: int, alarm: Alarm, key: Key) -> None:
        self._count += 1
        heapq.heappush(self._heap, (at_us, self._count, alarm, key))
        if at_us < self.next_us:
            self.next_us = at_us

    def _look(self) -> None:
        self.next_us = self._heap[0][0] if self._heap else NEVER

    def due(self, now: int) -> Iterator[tuple[Alarm, Key]]:
        while self._heap and self._heap[0][0] <= now:
            _, _, alarm, key = heapq.heappop(self._heap)
            self._look()
            yield alarm, key

    def coming(self) -> Iterator[tuple[int, Alarm, Key]]:
        """The next first; some may turn out to hold no longer."""
        for at_us, _, alarm, key in sorted(self._heap):
            yield at_us, alarm, key

    def void(self) -> bool:
        """One more of them holds no longer. True: it is time to sweep."""
        self._void += 1
        return self._void > FEW and self._void > len(self._heap) // 2

    def sweep(self, attempts: Container[Key]) -> None:
        """The time-outs of all but these."""
        timeout = Alarm.TIMEOUT
        self._heap = [i for i in self._heap if i[2] is not timeout or i[3] in attempts]
        heapq.heapify(self._heap)
        self._void = 0
        self._look()
