"""Notices tasks that hang: running, but using next to no CPU for a given time."""

from __future__ import annotations

from collections import deque
from typing import Deque, Tuple

NEXT_TO_NONE = 0.01  # of one core
SAMPLES = 10


class CpuWatch:
    def __init__(self, span_s: float) -> None:
        self.every_s = max(span_s / SAMPLES, 0.1)
        self._span_us = int(span_s * 1_000_000)
        self._seen: Deque[Tuple[int, int]] = deque()

    def used(self, total_us: int, now: int) -> bool:
        """True when the tasks hang. `total_us` of CPU is that of all tasks so far."""
        seen = self._seen
        if seen and now - seen[-1][0] > 3 * self.every_s * 1_000_000:
            seen.clear()  # nothing ran in between
        seen.append((now, total_us))
        while len(seen) > 1 and now - seen[1][0] >= self._span_us:
            seen.popleft()
        since, before = seen[0]
        span = now - since
        return span >= self._span_us and total_us - before < span * NEXT_TO_NONE
