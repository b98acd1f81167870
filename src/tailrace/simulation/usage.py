"""What a machine did with its time, counted exactly (thesis 2.4: ResourceStatistics)."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """Of a machine, up to the time it was asked for."""

    up_us: int = 0
    failures: int = 0
    busy_us: int = 0  # at least one job runs or writes its checkpoint
    full_us: int = 0  # it has no room for another
    work_done: float = 0.0  # all of it, in reference-µs: what was lost afterwards too
    work_lost: float = 0.0  # of it, what was of no use: no checkpoint or result stands on it
    ended: int = 0  # jobs whose work was done to its end
    lost: int = 0  # jobs lost with the machine
    dropped: int = 0
    saves: int = 0  # checkpoints written

    @property
    def useful_work(self) -> float:
        return self.work_done - self.work_lost


class Meter:
    """For how long something was so."""

    __slots__ = ("_since", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._since = -1

    def set(self, holds: bool, now: int) -> None:
        if holds:
            if self._since < 0:
                self._since = now
        elif self._since >= 0:
            self._total += now - self._since
            self._since = -1

    def total(self, now: int) -> int:
        """What is still so counts up to now."""
        return self._total + (now - self._since if self._since >= 0 else 0)


class Book:
    """The running counts behind a `Usage`."""

    __slots__ = (
        "busy", "dropped", "ended", "failures", "full", "lost", "saves", "up",
        "work_done", "work_lost",
    )  # fmt: skip

    def __init__(self) -> None:
        self.up, self.busy, self.full = Meter(), Meter(), Meter()
        self.failures = self.ended = self.lost = self.dropped = self.saves = 0
        self.work_done = self.work_lost = 0.0

    def usage(self, now: int) -> Usage:
        times = (meter.total(now) for meter in (self.up, self.busy, self.full))
        up_us, busy_us, full_us = times
        return Usage(up_us, self.failures, busy_us, full_us, self.work_done, self.work_lost,
                     self.ended, self.lost, self.dropped, self.saves)  # fmt: skip
