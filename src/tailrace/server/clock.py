"""The server's time: the wall clock when it began, then the monotonic one. It never goes back."""

from __future__ import annotations

import time


class Clock:
    def __init__(self) -> None:
        self._began_us = time.time_ns() // 1000
        self._zero_ns = time.monotonic_ns()

    def now(self) -> int:
        return self._began_us + (time.monotonic_ns() - self._zero_ns) // 1000
