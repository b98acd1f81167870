"""Simulated tasks are ended at their time limit (`limits.time`), as a worker ends them.

The limit is of the work: it does not run while an input or an output travels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailrace.scheduler.decisions import Assign
from tailrace.simulation.engine import Engine, Handle, Rank
from tailrace.simulation.host import Sent
from tailrace.simulation.job import Job, Stage
from tailrace.simulation.scenario import Tasks

AT_WORK = (Stage.RUNNING, Stage.SAVING)
OnOver = Callable[[Job], object]


class TimeLimits:
    def __init__(self, of_bags: Sequence[int | None], engine: Engine, on_over: OnOver) -> None:
        self._of_bags, self._engine, self._on_over = of_bags, engine, on_over
        self._due: dict[int, Handle] = {}  # by attempt

    def of(self, new: Assign) -> int | None:
        """Its own, which may have grown (`on_over_limit`), or that of its bag."""
        return new.limits.time_us if new.limits is not None else self._of_bags[new.bag - 1]

    def begin(self, job: Job) -> None:
        limit_us = job.tag.limit_us
        if limit_us is not None:
            self._look_at(self._engine.now + limit_us, job)

    def _look_at(self, due: int, job: Job) -> None:
        self._due[job.tag.attempt] = self._engine.put(due, Rank.TIMEOUT, self._look, job)

    def end(self, sent: Sent) -> None:
        handle = self._due.pop(sent.attempt, None)
        if handle is not None:
            self._engine.cancel(handle)

    def _look(self, job: Job) -> None:
        """Its work may have begun later than it was taken."""
        sent: Sent = job.tag
        now, limit_us = self._engine.now, sent.limit_us or 0
        del self._due[sent.attempt]
        if job.stage is Stage.RESERVED:
            self._look_at(now + limit_us, job)
        elif job.stage in AT_WORK and sent.began_us + limit_us > now:
            self._look_at(sent.began_us + limit_us, job)
        elif job.stage in AT_WORK:
            self._on_over(job)


def time_limits(bags: Sequence[Tasks], engine: Engine, on_over: OnOver) -> TimeLimits | None:
    """None where no bag has one."""
    found = [tasks.terms.limits.time_us for tasks in bags]
    if all(limit is None for limit in found):
        return None
    return TimeLimits(found, engine, on_over)
