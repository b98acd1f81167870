"""How long a bag has still to go, with an interval, from the run times seen so far."""

from __future__ import annotations

import math

import msgspec

from tailrace.knowledge.runtimes import RunTimes

NORMAL_95 = 1.96


class TimeLeft(msgspec.Struct, frozen=True):
    mean_us: int
    low_us: int
    high_us: int


def time_left(times: RunTimes, tasks_left: int, slots: int, begun: float = 0.0) -> TimeLeft | None:
    """Work left over slots, plus the wait for the last tasks; nothing before two runs are known.
    `begun` is what is done of those left, in tasks.

    The sum of n further run times has mean n·m and variance n·s² + n²·s²/k, as the mean itself is
    known only from k runs. The last round keeps on average half a slot busy for half a run.
    """
    if times.count < 2 or slots <= 0 or tasks_left <= 0:
        return None
    mean, spread = times.mean_us, times.deviation_us
    busy = min(slots, tasks_left)
    further = max(tasks_left - begun, 0.0)
    work = further * mean
    deviation = spread * math.sqrt(further + further**2 / times.count)
    tail = mean / 2 * (busy - 1) / busy
    middle = work / busy + tail
    half = NORMAL_95 * deviation / busy + (spread if busy > 1 else 0.0)
    return TimeLeft(int(middle), int(max(middle - half, 0)), int(middle + half))
