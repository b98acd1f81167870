"""The checkpoints of a bag's tasks, and whose work each of them stands on.

An attempt goes on from the latest checkpoint of its task, and what it saves itself stands on that:
a chain back to the one that began from nothing. When the task has its result, the work along the
chain of the attempt that brought it is of use, on whatever machines it was done, and all other work
for the task is not. Of a task that was given up, none is.
"""

from __future__ import annotations

from typing import NamedTuple

from tailrace.simulation.host import Sent
from tailrace.simulation.job import Job, Stage

GONE = (Stage.LOST, Stage.DROPPED)


class Checkpoint(NamedTuple):
    share: float  # of the work of its task, that is behind it
    attempt: int  # which wrote it
    work: float  # of that attempt alone


class Stay(NamedTuple):
    """An attempt on its machine."""

    job: Job
    base: Checkpoint | None  # from which it went on


class Checkpoints:
    def __init__(self) -> None:
        self._latest: dict[int, Checkpoint] = {}  # by task: what is available
        self._stays: dict[int, dict[int, Stay]] = {}  # by task without a result, and attempt

    def __contains__(self, index: int) -> bool:
        return index in self._latest

    def resume(self, job: Job) -> None:
        """Work differs between kinds of machines, so that its share is what carries over."""
        sent: Sent = job.tag
        base = self._latest.get(sent.index)
        if base is not None:
            job.saved = base.share * job.work
        self._stays.setdefault(sent.index, {})[sent.attempt] = Stay(job, base)

    def add(self, job: Job) -> None:
        """In the place of an older one, unless that is of more work."""
        sent: Sent = job.tag
        share, known = job.saved / job.work, self._latest.get(sent.index)
        if known is None or share > known.share:
            self._latest[sent.index] = Checkpoint(share, sent.attempt, job.saved - job.begun)

    def settle(self, index: int, winner: int | None) -> bool:
        """Its result is that of this attempt, or it was given up: nobody goes on from its
        checkpoint. Says whether there was one."""
        stays = self._stays.pop(index, {})
        used = _used(stays, winner)
        for attempt, stay in stays.items():
            if attempt != winner:
                _discount(stay.job, used.get(attempt, 0.0))
        return self._latest.pop(index, None) is not None


def _used(stays: dict[int, Stay], winner: int | None) -> dict[int, float]:
    """By attempt: the work on which that of the winner stands."""
    found: dict[int, float] = {}
    base = None if winner is None else stays[winner].base
    while base is not None:
        found[base.attempt] = base.work
        base = stays[base.attempt].base
    return found


def _discount(job: Job, used: float) -> None:
    """All but so much of its work. What is still at work loses the rest when it ends."""
    if job.stage in GONE:
        job.done = job.saved  # what it did after that is counted already
    job.begun = job.saved = job.begun + used
    if job.stage in GONE or job.stage is Stage.ENDED:
        sent: Sent = job.tag
        sent.host.machine.discount(job)
