"""What a simulated machine runs: the work of one attempt (the papers' job).

Work is counted in reference-microseconds: the time it takes alone on one core of speed 1. A job of
two cores does two of them in each microsecond that it has both. Work may be an integer or a float;
progress is a float.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from tailrace.bag.needs import THOUSANDTHS, Amounts


class Stage(Enum):
    AWAY = "away"  # on no machine
    RESERVED = "reserved"  # its slot is taken while its input travels; it uses no processor
    RUNNING = "running"
    SAVING = "saving"  # paused to write a checkpoint: it keeps its processor and makes no progress
    SENDING = "sending"  # its output travels: neither slot nor processor
    ENDED = "ended"
    DROPPED = "dropped"
    LOST = "lost"  # with its machine


class Job:
    __slots__ = (
        "done",
        "entry",
        "epoch",
        "holds",
        "point",
        "saved",
        "share",
        "stage",
        "tag",
        "wait",
        "work",
    )

    def __init__(
        self,
        work: float,
        tag: Any = None,
        *,
        share: int = THOUSANDTHS,
        holds: Amounts | None = None,
        saved: float = 0.0,
    ) -> None:
        self.work = work
        self.tag = tag  # by which the world knows it
        self.share = share  # thousandths of a core that it can use, as it needs them
        self.holds = holds  # what else of its machine it needs: memory, gpus
        self.saved = saved  # work up to the latest checkpoint that is available
        self.done: float = saved  # as booked last; ask its machine for the progress now
        self.stage = Stage.AWAY
        self.epoch = 0  # counts its stays: a checkpoint that arrives after one is void
        # While it is on a machine, and its machine's alone:
        self.wait = 0  # handle of the event that it waits for
        self.point = 0.0  # on the work clock, where it ends
        self.entry = 0  # its number on the work clock; 0: it makes no progress

    @property
    def cores(self) -> float:
        return self.share / THOUSANDTHS
