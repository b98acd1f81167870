"""Simulated tasks tell how far they are, every so often; the news travels like all other news.

Each attempt has its own clock, from the moment it is on its machine. One that waits there, or whose
input still travels, has nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.scheduler.events import AnyEvent, Progress
from tailrace.simulation.engine import Engine, Handle, Rank
from tailrace.simulation.host import Sent
from tailrace.simulation.job import Job


class Progressing:
    def __init__(self, engine: Engine, report: Callable[[AnyEvent], None], every_us: int) -> None:
        self._engine, self._report, self._every_us = engine, report, every_us
        self._due: dict[int, Handle] = {}  # by attempt

    def begin(self, job: Job) -> None:
        """It is on its machine, or has just told."""
        due = self._engine.now + self._every_us
        self._due[job.tag.attempt] = self._engine.put(due, Rank.WATCH, self._tell, job)

    def end(self, sent: Sent) -> None:
        """It has ended, or is lost: nothing more comes of it."""
        handle = self._due.pop(sent.attempt, None)
        if handle is not None:
            self._engine.cancel(handle)

    def _tell(self, job: Job) -> None:
        """One that stands still where nothing else happens would tell so for ever."""
        sent: Sent = job.tag
        del self._due[sent.attempt]
        done = sent.host.machine.progress(job) / job.work if job.work else 1.0
        if done > 0:
            ran = sent.ran_us(self._engine.now)
            self._report(Progress(sent.attempt, sent.host.name, min(done, 1.0), ran))
        if not self._engine.only_looks_on():
            self.begin(job)
