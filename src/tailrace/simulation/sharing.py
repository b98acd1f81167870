"""How a machine's capacity is divided among its jobs (thesis 2.2, 5.3.1, 6.4.2).

The jobs of a machine speed up and slow down together. So one *work clock* per machine shows the
work that a job of weight 1 has had since the machine began; a job that begins at V ends when it
shows V + work/weight, however often the rate changes on the way. A change of load therefore costs
one new rate and one new moment for the first job to end: O(log n), not n rescaled times.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Protocol

from tailrace.simulation.job import Job

_FEW = 64
_PARTS = 1_000_000  # shares are added up as integers, or a full machine would not stay full


class WorkClock:
    __slots__ = ("_count", "_heap", "_shows", "_since", "_void", "rate")

    def __init__(self) -> None:
        self.rate = 0.0  # reference-µs per µs, of a job of weight 1
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
    def take(self, job: Job) -> bool:
        """Room for it, if there is; beside its slot."""

    def give(self, job: Job) -> None:
        """Its room is free again."""

    def full(self) -> bool: ...

    def rate(self, speed: float, running: int) -> float:
        """Of the work clock, when each core gives `speed` to our jobs."""

    def weight(self, job: Job) -> float:
        """Its part of the clock's rate."""


class EqualShare:
    """Every running job has one core to itself, or an equal part of all when there are more jobs
    than cores (eqs. 5.1 and 6.3, where a machine has one core)."""

    __slots__ = ("cores",)

    def __init__(self, cores: int = 1) -> None:
        self.cores = cores

    def take(self, job: Job) -> bool:
        return True

    def give(self, job: Job) -> None:
        pass

    def full(self) -> bool:
        return False

    def rate(self, speed: float, running: int) -> float:
        return speed if running <= self.cores else speed * self.cores / running

    def weight(self, job: Job) -> float:
        return 1.0


class Reservation:
    """Each job reserves `job.share` of a core (0.4, 2.0) from admission to its end; more than is
    there is refused. With one core that is the thesis's percentage of a machine. What is reserved
    and not used is nobody's."""

    __slots__ = ("_free",)

    def __init__(self, cores: float = 1.0) -> None:
        self._free = round(cores * _PARTS)

    def take(self, job: Job) -> bool:
        wanted = round(job.share * _PARTS)
        if not 0 < wanted <= self._free:
            return False
        self._free -= wanted
        return True

    def give(self, job: Job) -> None:
        self._free += round(job.share * _PARTS)

    def full(self) -> bool:
        return self._free == 0

    def rate(self, speed: float, running: int) -> float:
        return speed

    def weight(self, job: Job) -> float:
        return job.share
