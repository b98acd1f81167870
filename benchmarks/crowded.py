"""A crowd of fake workers at a server, and how their calls went."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import quantiles

import msgspec

from benchmarks.children.crowd import Group, Told
from benchmarks.served import TOKEN

CONNECT_S = 1.0  # for the crowd's process to start
PATIENCE_S = 120.0  # beyond the time of its groups


class Answers:
    """Of calls that began within a stretch of time."""

    def __init__(self, took_s: list[float], refused: list[bool], lasted_s: float) -> None:
        self.calls, self.refused = len(took_s), sum(refused)
        self.lasted_s = lasted_s
        self.taken_ms = [
            1000 * took for took, away in zip(took_s, refused, strict=True) if not away
        ]

    @property
    def rate(self) -> float:
        """Calls a second that were seen to."""
        return len(self.taken_ms) / self.lasted_s

    def percentile(self, percent: int) -> float:
        return quantiles(self.taken_ms, n=100)[percent - 1]


class Crowd:
    """It gathers while this goes on, and is heard when it has left."""

    def __init__(self, port: int, *groups: Group) -> None:
        self.start = time.monotonic() + CONNECT_S
        self._longest_s = max(group.seconds for group in groups) + CONNECT_S + PATIENCE_S
        program = [sys.executable, "-m", "benchmarks.children.crowd"]
        words = [str(port), TOKEN, str(self.start), *map(str, groups)]
        self._process = subprocess.Popen([*program, *words], stdout=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self) -> None:
        try:
            out, _ = self._process.communicate(timeout=self._longest_s)
        finally:
            self._process.kill()
        if self._process.returncode:
            raise SystemExit("the crowd has ended; its last words stand above")
        self.told = msgspec.json.decode(out, type=Told)

    def within(self, *stretches: tuple[float, float]) -> Answers:
        """Seconds from the start; several are taken together."""
        return self._those(
            lambda at: any(a <= at < b for a, b in stretches), sum(b - a for a, b in stretches)
        )

    def _those(self, wanted: Callable[[float], bool], lasted_s: float) -> Answers:
        told = self.told
        calls = zip(told.began_s, told.took_s, told.refused, strict=True)
        chosen = [(took, away) for began, took, away in calls if wanted(began - self.start)]
        return Answers([took for took, _ in chosen], [away for _, away in chosen], lasted_s)
