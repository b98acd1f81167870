"""The commonest machine, quickly: one job of one core at a time, at a fixed speed, with nothing
that travels.

It has the doors of `Machine` that it needs, and puts one event per job.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.bag.needs import THOUSANDTHS
from tailrace.simulation.engine import NEVER, Engine, Handle, Rank
from tailrace.simulation.job import Job, Stage
from tailrace.simulation.usage import Usage

RESULT, RUNNING, ENDED = int(Rank.RESULT), Stage.RUNNING, Stage.ENDED  # looked up for every job


class SingleMachine:
    __slots__ = (
        "_busy_us", "_dropped", "_due", "_ended", "_engine", "_failures", "_full_us", "_job",
        "_lost", "_on_end", "_runs_from", "_since", "_up_from", "_up_us", "_work_done",
        "_work_lost", "speed", "tag", "up",
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        on_end: Callable[[Job], object],
        *,
        speed: float = 1.0,
        up: bool = True,
        tag: object = None,
    ) -> None:
        self.speed = speed
        self.tag = tag
        self.up = up
        self._engine = engine
        self._on_end = on_end
        self._job: Job | None = None
        self._due: Handle = 0
        self._since = self._runs_from = 0  # its slot was taken, its work begins
        self._up_from = engine.now
        self._up_us = self._busy_us = self._full_us = 0
        self._failures = self._ended = self._lost = self._dropped = 0
        self._work_done = self._work_lost = 0.0

    @property
    def free(self) -> int:
        return THOUSANDTHS if self.up and self._job is None else 0

    def has_room(self, job: Job) -> bool:
        return self.up and self._job is None

    @property
    def jobs(self) -> tuple[Job, ...]:
        return () if self._job is None else (self._job,)

    def start(self, job: Job) -> bool:
        """As that of `Machine`; both steps in one, since it is called for every job."""
        if self._job is not None or not self.up:
            return False
        engine, saved = self._engine, job.saved
        self._job, job.stage, job.done = job, RUNNING, saved
        self._since = self._runs_from = now = engine.now
        ends = now + int((job.work - saved) / self.speed + 0.5)
        self._due = engine.put(ends, RESULT, self._end, job)
        return True

    def reserve(self, job: Job) -> bool:
        """As that of `Machine`."""
        if not self.has_room(job):
            return False
        self._job, job.stage, job.done = job, Stage.RESERVED, job.saved
        self._since, self._runs_from, self._due = self._engine.now, NEVER, 0
        return True

    def launch(self, job: Job) -> None:
        """As that of `Machine`."""
        job.stage = RUNNING
        self._runs_from = now = self._engine.now
        ends = now + int((job.work - job.saved) / self.speed + 0.5)
        self._due = self._engine.put(ends, RESULT, self._end, job)

    def hang(self, job: Job) -> None:
        """As that of `Machine`."""
        job.stage, self._runs_from = Stage.HANGING, self._engine.now

    def _end(self, job: Job) -> None:
        self._job = None
        now, work, on_end = self._engine.now, job.work, self._on_end
        self._busy_us += now - self._runs_from
        self._full_us += now - self._since
        self._work_done += work - job.saved
        self._ended += 1
        job.done, job.stage = work, ENDED
        on_end(job)

    def progress(self, job: Job) -> float:
        if job.stage is not RUNNING:
            return job.done
        return min(job.saved + (self._engine.now - self._runs_from) * self.speed, job.work)

    def keeps(self, job: Job, goes_us: int, on_kept: Callable[[Job], object]) -> bool:
        """As that of `Machine`."""
        return False

    def drop(self, job: Job) -> float:
        if job is not self._job:
            return 0.0
        self._dropped += 1
        return self._remove(job, Stage.DROPPED)

    def fail(self) -> list[Job]:
        if self.up:
            self._failures += 1
        return self.leave()

    def leave(self) -> list[Job]:
        job = self._job
        if job is not None:
            self._remove(job, Stage.LOST)
            self._lost += 1
        if self.up:
            self._up_us += self._engine.now - self._up_from
        self.up = False
        return [] if job is None else [job]

    def discount(self, job: Job) -> None:
        """As that of `Machine`."""
        self._work_lost += job.done - job.saved
        job.done = job.saved

    def waste(self, job: Job) -> None:
        """As that of `Machine`."""
        self._ended -= 1
        self._lost += 1
        self.discount(job)

    def come(self) -> None:
        if not self.up:
            self.up, self._up_from = True, self._engine.now

    def _remove(self, job: Job, stage: Stage) -> float:
        self._engine.cancel(self._due)
        job.done = self.progress(job)
        lost = job.done - job.saved
        self._work_done += lost
        self._work_lost += lost
        self._busy_us, self._full_us = self._times()
        self._job, job.stage = None, stage
        job.epoch += 1
        return lost

    def _times(self) -> tuple[int, int]:
        if self._job is None:
            return self._busy_us, self._full_us
        now = self._engine.now
        return self._busy_us + max(now - self._runs_from, 0), self._full_us + now - self._since

    def usage(self) -> Usage:
        """Up to now, with the job at hand."""
        job, now = self._job, self._engine.now
        busy_us, full_us = self._times()
        at_hand = 0.0 if job is None else self.progress(job) - job.saved
        up_us = self._up_us + (now - self._up_from if self.up else 0)
        return Usage(up_us, self._failures, busy_us, full_us, self._work_done + at_hand,
                     self._work_lost, self._ended, self._lost, self._dropped)  # fmt: skip
