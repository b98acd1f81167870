"""One clock for all that speeds up and slows down together: the jobs of a machine, the transfers of
a flow.

It shows the work that each of them has had since it began. What begins at V ends when the clock
shows V + its work, however often the rate changes on the way. A change therefore costs one new rate
and one new moment for the first to end: O(log n), not n rescaled times.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, Protocol, TypeVar

_FEW = 64


class Timed(Protocol):
    point: float  # on the clock, where it ends
    entry: int  # its number on the clock; 0: it is not on it


T = TypeVar("T", bound=Timed)


class WorkClock(Generic[T]):
    """What goes from one clock to another needs `numbers` that both take theirs from: an entry that
    it has left behind must not look like its new one."""

    __slots__ = ("_heap", "_numbers", "_shows", "_since", "_void", "rate")

    def __init__(self, now: int = 0, numbers: Iterator[int] | None = None) -> None:
        self.rate = 0.0  # per µs
        self._shows = 0.0
        self._since = float(now)
        self._heap: list[tuple[float, int, T]] = []
        self._numbers = numbers or count(1)
        self._void = 0

    def shows(self, now: float) -> float:
        return self._shows + self.rate * (now - self._since)

    def set_rate(self, rate: float, now: float) -> None:
        if rate != self.rate:
            self._shows, self._since = self.shows(now), now
            self.rate = rate

    def add(self, one: T, needs: float, now: float) -> None:
        """It ends when the clock has gone on by `needs`."""
        one.entry, one.point = next(self._numbers), self.shows(now) + needs
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

    def needs(self, one: T, now: float) -> float:
        return max(one.point - self.shows(now), 0.0)

    def _first(self) -> tuple[float, int, T] | None:
        heap = self._heap
        while heap and heap[0][2].entry != heap[0][1]:
            heappop(heap)
            self._void -= 1
        return heap[0] if heap else None

    @property
    def first(self) -> T | None:
        """To end."""
        first = self._first()
        return None if first is None else first[2]

    def wait(self, now: float) -> float | None:
        """How long until the first of them ends, at this rate."""
        first = self._first()
        if first is None or self.rate <= 0:
            return None
        return max(first[0] - self.shows(now), 0.0) / self.rate

    def next_end(self, now: int) -> int | None:
        """When the first of them ends, to the nearest microsecond."""
        wait = self.wait(now)
        return None if wait is None else now + int(wait + 0.5)

    def ended(self, now: float, within: float = 0.5) -> list[T]:
        """Take off those that end now: in less than half a microsecond, as `next_end` rounds."""
        found: list[T] = []
        shows, rate = self.shows(now), self.rate
        while rate > 0 and (first := self._first()) and (first[0] - shows) / rate < within:
            heappop(self._heap)
            first[2].entry = 0
            found.append(first[2])
        return found

    def reset(self, now: int) -> None:
        """None is on it: begin at zero again, since a small number keeps more digits."""
        self._heap.clear()
        self._void, self._shows, self._since, self.rate = 0, 0.0, float(now), 0.0
