"""One clock for all that speeds up and slows down together: the jobs of a machine, the transfers of
a flow.

It shows the work that each of them has had since it began. What begins at V ends when the clock
shows V + its work, however often the rate changes on the way. A change therefore costs one new rate
and one new moment for the first to end: O(log n), not n rescaled times.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

_FEW = 64


class Timed(Protocol):
    point: float  # on the clock, where it ends
    entry: int  # its number on the clock; 0: it is not on it


T = TypeVar("T", bound=Timed)


class WorkClock(Generic[T]):
    __slots__ = ("_count", "_heap", "_shows", "_since", "_void", "rate")

    def __init__(self, now: int = 0) -> None:
        self.rate = 0.0  # per µs
        self._shows = 0.0
        self._since = now
        self._heap: list[tuple[float, int, T]] = []
        self._count = 0
        self._void = 0

    def shows(self, now: int) -> float:
        return self._shows + self.rate * (now - self._since)

    def set_rate(self, rate: float, now: int) -> None:
        if rate != self.rate:
            self._shows, self._since = self.shows(now), now
            self.rate = rate

    def add(self, one: T, needs: float, now: int) -> None:
        """It ends when the clock has gone on by `needs`."""
        self._count += 1
        one.entry, one.point = self._count, self.shows(now) + needs
        heappush(self._heap, (one.point, one.entry, one))

    def remove(self, one: T) -> None:
        one.entry = 0
        self._void += 1
        if self._void > _FEW and self._void > len(self._heap) >> 1:
            self._sweep()

    def _sweep(self) -> None:
        self._heap = [item for item in self._heap if item[2].entry == item[1]]
        heapify(self._heap)
        self._void = 0

    def needs(self, one: T, now: int) -> float:
        return max(one.point - self.shows(now), 0.0)

    def _first(self) -> tuple[float, int, T] | None:
        heap = self._heap
        while heap and heap[0][2].entry != heap[0][1]:
            heappop(heap)
            self._void -= 1
        return heap[0] if heap else None

    def next_end(self, now: int) -> int | None:
        """When the first of them ends, to the nearest microsecond."""
        first = self._first()
        if first is None or self.rate <= 0:
            return None
        return now + int(max(first[0] - self.shows(now), 0.0) / self.rate + 0.5)

    def ended(self, now: int) -> list[T]:
        """Take off those that end now: in less than half a microsecond, as `next_end` rounds."""
        found: list[T] = []
        shows, rate = self.shows(now), self.rate
        while rate > 0 and (first := self._first()) and (first[0] - shows) / rate < 0.5:
            heappop(self._heap)
            first[2].entry = 0
            found.append(first[2])
        return found

    def reset(self, now: int) -> None:
        """None is on it: begin at zero again, since a small number keeps more digits."""
        self._heap.clear()
        self._void, self._shows, self._since, self.rate = 0, 0.0, now, 0.0
