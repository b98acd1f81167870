"""When a host calls that has a worker as real machines have (`calls = "worker"` of a pool).

A machine of DSiDE asks for work when it has room. A real worker calls again soon after each answer,
also while it is busy: an offer of it is nearly always open, and it may be sent tasks ahead. While
plenty of them lie ready, it gathers results for a while and sends them together; those go with a
leased machine that dies, and wait on the disk of any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.scheduler.events import AnyEvent, Ended, OfferWithdrawn
from tailrace.simulation.engine import Engine, Rank

if TYPE_CHECKING:
    from tailrace.simulation.host import SimulatedHost
    from tailrace.simulation.job import Job

# As the worker has them.
GATHER_US = 250_000
PARK_US = 30_000


class Calls:
    """Those of one host."""

    __slots__ = ("_answer_us", "_due", "_engine", "_host", "_kept", "_low", "_report", "_since_us",
                 "_waits")  # fmt: skip

    def __init__(
        self,
        host: SimulatedHost,
        engine: Engine,
        report: Callable[[AnyEvent], None],
        answer_us: int,
    ) -> None:
        """`answer_us`: how long an answer is on its way."""
        self._host, self._engine, self._report = host, engine, report
        self._answer_us = answer_us
        self._kept: list[tuple[Ended, Job]] = []  # results that nobody has been told yet
        self._since_us = 0  # the first of them is there
        self._low = 0  # with so few that lie ready, results are sent at once
        self._due = 0  # handle of the next call
        self._waits = False  # a call of it for its answer

    def ended(self, result: Ended, job: Job) -> None:
        now = self._engine.now
        if not self._kept:
            self._since_us = now
        self._kept.append((result, job))
        due_us = self._since_us + (GATHER_US if self._has_plenty() else 0)
        if due_us <= now:
            self.call()
        else:
            self._call_at(due_us)

    def _has_plenty(self) -> bool:
        left = len(self._host.waiting)
        return left > self._low and left >= len(self._host.machine.jobs)

    def call(self, _due: object = None) -> None:
        """All that it has to say, and what it has room for."""
        self._engine.cancel(self._due)
        self._due = 0
        kept, self._kept = self._kept, []
        self.stocked()
        if kept:
            self._hang_up()
        for result, _ in kept:
            self._report(result)
        if self._host.parts_now:
            self._due = self._engine.put(self._engine.now, Rank.SENDING, self._call_after_all)
        elif not self._host.warned:
            self._waits = True
            self._report(self._host.offer)

    def _call_after_all(self, _due: object) -> None:
        """It was to go or be warned in this very instant, and is still there."""
        self._host.presence.stays()
        self.call()

    def _hang_up(self) -> None:
        """On the call that waits: what its own results set free is offered by the next one."""
        if self._waits:
            self._report(OfferWithdrawn(self._host.name))

    def stocked(self) -> None:
        """What lies ready there has changed by an answer."""
        self._low = len(self._host.waiting) // 2

    def answered(self) -> None:
        """It was sent something. Results that wait to be sent do not wait longer for that."""
        self._waits = False
        if self._host.machine.up and not self._kept:
            self._call_at(self._engine.now + self._answer_us + PARK_US)

    def _call_at(self, due_us: int) -> None:
        self._engine.cancel(self._due)
        self._due = self._engine.put(due_us, Rank.RESULT, self.call)

    def lost(self) -> None:
        """Its machine goes."""
        self._waits = False
        self._engine.cancel(self._due)
        self._due = 0
        if self._host.lease is not None:
            kept, self._kept = self._kept, []
            for _, job in kept:
                self._host.machine.waste(job)
