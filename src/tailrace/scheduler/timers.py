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
    ACQUIRE = 4  # a pool may be asked again


class Timers:
    """A heap of moments. None is taken out early: who is called checks if it still holds."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Alarm, int | str]] = []
        self._count = 0

    def set(self, at_us: int, alarm: Alarm, key: int | str) -> None:
        self._count += 1
        heapq.heappush(self._heap, (at_us, self._count, alarm, key))

    def next(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Iterator[tuple[Alarm, int | str]]:
        while self._heap and self._heap[0][0] <= now:
            _, _, alarm, key = heapq.heappop(self._heap)
            yield alarm, key
