"""The server's time: the wall clock when it began, then the monotonic one. It never goes back."""

from __future__ import annotations

import time

STEP_US = 2_000_000  # what a clock is kept right by is less, from one look to the next


class Clock:
    def __init__(self) -> None:
        self._began_us = time.time_ns() // 1000
        self._zero_ns = time.monotonic_ns()
        self._ahead_us = 0  # the wall clock, when it was last looked at

    def now(self) -> int:
        return self._began_us + (time.monotonic_ns() - self._zero_ns) // 1000

    def stepped_us(self) -> int:
        """By how much the wall clock was set since this was last asked, or the machine slept; 0: it
        was not."""
        ahead = time.time_ns() // 1000 - self.now()
        step, self._ahead_us = ahead - self._ahead_us, ahead
        return step if abs(step) >= STEP_US else 0


def offset_us() -> int:
    """Of the clock on the wall from that of the epoch, here and now; where summer time begins or
    ends, it is that of before until the server begins anew."""
    return (time.localtime().tm_gmtoff or 0) * 1_000_000
