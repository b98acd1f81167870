"""What a simulated machine runs: the work of one attempt (the papers' job).

Work is counted in reference-microseconds: the time it takes alone on one core of speed 1. A job of
two cores does two of them in each microsecond that it has both. Work may be an integer or a float;
progress is a float.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from tailrace.bag.needs import THOUSANDTHS, Amounts


class Stage(Enum):
    AWAY = "away"  # on no machine
    RESERVED = "reserved"  # its slot is taken while its input travels; it uses no processor
    RUNNING = "running"
    HANGING = "hanging"  # it never ends: it keeps its processor and makes no progress
    SAVING = "saving"  # paused to write a checkpoint: it keeps its processor and makes no progress
    SENDING = "sending"  # its output travels: neither slot nor processor
    ENDED = "ended"
    DROPPED = "dropped"
    LOST = "lost"  # with its machine


class Job(msgspec.Struct, eq=False):
    work: float
    tag: Any = None  # by which the world knows it
    share: int = THOUSANDTHS  # of a core that it can use, as it needs them
    holds: Amounts | None = None  # what else of its machine it needs: memory, gpus
    saved: float = 0.0  # work up to the latest checkpoint that is available
    begun: float = 0.0  # work that it brought; once its task is over, with its own that is of use
    done: float = 0.0  # as booked last, since it began; ask its machine for the progress now
    stage: Stage = Stage.AWAY
    epoch: int = 0  # counts its stays: a checkpoint that arrives after one is void
    # While it is on a machine, and its machine's alone:
    wait: int = 0  # handle of the event that it waits for
    point: float = 0.0  # on the work clock, where it ends
    entry: int = 0  # its number on the work clock; 0: it makes no progress

    @property
    def cores(self) -> float:
        return self.share / THOUSANDTHS
