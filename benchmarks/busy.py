"""What processes compute meanwhile: a measure of one is unfair where another has its core."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import NamedTuple

from benchmarks.machine import cpu_s

EVERY_S = 0.25


class Look(NamedTuple):
    at: float
    cpu_s: tuple[float, ...]  # of each, so far


class Busy:
    """Use as a context, within which they live. They are looked at every quarter of a second."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._looks: list[Look] = []
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Busy:
        self._looking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                now = time.monotonic(), tuple(map(cpu_s, self._pids))
            except OSError:  # one of them has ended
                return
            self._looks.append(Look(*now))

    def cores(self, begin: float, end: float) -> list[float]:
        """Of each, on the clock that all processes share."""
        within = [look for look in self._looks if begin <= look.at <= end]
        if len(within) < 2:
            raise SystemExit(f"nobody was looked at between {begin:.1f} and {end:.1f}")
        first, last = within[0], within[-1]
        pairs = zip(first.cpu_s, last.cpu_s, strict=True)
        return [(after - before) / (last.at - first.at) for before, after in pairs]
