"""How a machine's capacity is divided among its jobs (thesis 2.2, 5.3.1, 6.4.2).

The jobs of a machine speed up and slow down together. So one *work clock* per machine shows the
work that a job of one core has had since the machine began; a job that begins at V ends when it
shows V + work/cores, however often the rate changes on the way. A change of load therefore costs
one new rate and one new moment for the first job to end: O(log n), not n rescaled times.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Protocol

from tailrace.bag.needs import THOUSANDTHS
from tailrace.simulation.job import Job

_FEW = 64


class WorkClock:
    __slots__ = ("_count", "_heap", "_shows", "_since", "_void", "rate")

    def __init__(self) -> None:
        self.rate = 0.0  # reference-µs per µs, of a job of one core
        self._shows = 0.0
        self._since = 0
        self._heap: list[tuple[float, int, Job]] = []
        self._count = 0
        self._void = 0

    def shows(self, now: int) -> float:
        return self._shows + self.rate * (now - self._since)

    def set_rate(self, rate: float, now: int) -> None:
        if rate != self.rate:
            self._shows, self._since = self.shows(now), now
            self.rate = rate

    def add(self, job: Job, needs: float, now: int) -> None:
        """It ends when the clock has gone on by `needs`."""
        self._count += 1
        job.entry, job.point = self._count, self.shows(now) + needs
        heappush(self._heap, (job.point, job.entry, job))

    def remove(self, job: Job) -> None:
        job.entry = 0
        self._void += 1
        if self._void > _FEW and self._void > len(self._heap) >> 1:
            self._sweep()

    def _sweep(self) -> None:
        self._heap = [item for item in self._heap if item[2].entry == item[1]]
        heapify(self._heap)
        self._void = 0

    def needs(self, job: Job, now: int) -> float:
        return max(job.point - self.shows(now), 0.0)

    def _first(self) -> tuple[float, int, Job] | None:
        heap = self._heap
        while heap and heap[0][2].entry != heap[0][1]:
            heappop(heap)
            self._void -= 1
        return heap[0] if heap else None

    def next_end(self, now: int) -> int | None:
        """When the first job ends, to the nearest microsecond."""
        first = self._first()
        if first is None or self.rate <= 0:
            return None
        return now + int(max(first[0] - self.shows(now), 0.0) / self.rate + 0.5)

    def ended(self, now: int) -> list[Job]:
        """Take off the jobs that end now: in less than half a microsecond, as `next_end` rounds."""
        jobs: list[Job] = []
        shows, rate = self.shows(now), self.rate
        while rate > 0 and (first := self._first()) and (first[0] - shows) / rate < 0.5:
            heappop(self._heap)
            first[2].entry = 0
            jobs.append(first[2])
        return jobs

    def reset(self, now: int) -> None:
        """Nobody runs: begin at zero again, since a small number keeps more digits."""
        self._heap.clear()
        self._void, self._shows, self._since, self.rate = 0, 0.0, now, 0.0


class Sharing(Protocol):
    def room(self, slots: int) -> int:
        """Thousandths of cores that its jobs may need together, when it is to offer `slots`."""

    def rate(self, speed: float, running: int) -> float:
        """Of the work clock, when each core gives `speed` to our jobs, and those that run need
        `running` thousandths. A job has this for each core that it needs."""


class EqualShare:
    """Every running job has the cores that it needs, or an equal part of its need when there are
    too few for all (eqs. 5.1 and 6.3, where a machine has one core and each job needs it)."""

    __slots__ = ("_cores",)

    def __init__(self, cores: int = 1) -> None:
        self._cores = cores * THOUSANDTHS

    def room(self, slots: int) -> int:
        return slots * THOUSANDTHS

    def rate(self, speed: float, running: int) -> float:
        return speed if running <= self._cores else speed * self._cores / running


class Reservation:
    """Each job reserves the cores that it needs (0.4, 2) from admission to its end; more than is
    there is refused. With one core that is the thesis's percentage of a machine. What is reserved
    and not used is nobody's."""

    __slots__ = ("_cores",)

    def __init__(self, cores: int = 1) -> None:
        self._cores = cores

    def room(self, slots: int) -> int:
        return min(slots, self._cores) * THOUSANDTHS

    def rate(self, speed: float, running: int) -> float:
        return speed
