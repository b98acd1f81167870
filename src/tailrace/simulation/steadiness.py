"""Does the waiting grow while a run goes on? Then its means say nothing of a steady state.

Of the tasks in the order of their arrival the first fifth warms the system up; of the others the
later half is compared with the earlier one. A single run proves nothing, for waiting times hang
together; over the runs, which are independent, the differences are judged by Student's t.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.quantities import SECOND
from tailrace.simulation.record import UNKNOWN, Record
from tailrace.simulation.running import Running

WARM_UP = 0.2  # of the tasks
FEWEST = 20  # tasks in each half
NOTABLE = 0.25  # of the earlier waiting: an empty system fills up, and that takes a while to fade


class Halves(msgspec.Struct, frozen=True):
    """Mean waiting of the earlier and of the later tasks."""

    earlier_s: float
    later_s: float


class Growth(msgspec.Struct, frozen=True):
    """The same over the runs, and whether the difference is more than chance."""

    earlier_s: float
    later_s: float
    grows: bool


def halves(records: Iterable[Record], end_us: int) -> Halves | None:
    """None where too few tasks arrive one after the other: a bag that is there at once has no
    steady state to look for. What was never sent has waited until the end."""
    pairs = [_waiting(record, end_us) for record in records if _comes_in_turn(record)]
    if not pairs:
        return None
    arrived, waited = (np.concatenate(column) for column in zip(*pairs, strict=True))
    waited = waited[np.argsort(arrived, kind="stable")][round(WARM_UP * len(waited)) :]
    middle = len(waited) // 2
    if middle < FEWEST:
        return None
    return Halves(*(float(half.mean()) / SECOND for half in (waited[:middle], waited[middle:])))


def growth(found: Sequence[Halves | None]) -> Growth | None:
    """None where two runs at least cannot tell."""
    runs = [one for one in found if one is not None]
    if len(runs) < 2:
        return None
    earlier, later, more = Running(), Running(), Running()
    for one in runs:
        earlier.add(one.earlier_s)
        later.add(one.later_s)
        more.add(one.later_s - one.earlier_s)
    grows = more.mean > max(more.half_width, NOTABLE * earlier.mean)
    return Growth(earlier.mean, later.mean, grows)


def _comes_in_turn(record: Record) -> bool:
    """Its tasks, in their order."""
    count = record.submitted
    return count > 0 and record.arrived[0] < record.arrived[count - 1]


def _waiting(record: Record, end_us: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each task that came: when, and how long it waited."""
    arrived, sent = (np.frombuffer(one, np.int64) for one in (record.arrived, record.sent))
    there = arrived != UNKNOWN
    until = np.where(sent == UNKNOWN, end_us, sent)
    return arrived[there], (until - arrived)[there]
