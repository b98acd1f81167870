"""Virtual time: a heap of moments, and the one source of chance.

Everything that happens is noted in words; the digest of the notes is the identity of a run, so that
two runs of one seed can be compared without keeping either.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random
from typing import Any
from zlib import crc32

MS = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND


class Engine:
    def __init__(self, seed: int, say: Callable[[str], None] | None = None) -> None:
        self.now = 0
        self.random = Random(seed)
        self.digest = 0
        self.steps = 0
        self._say = say
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def at(self, when: int, what: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (max(when, self.now), self._count, what, args))

    def after(self, delay: int, what: Callable[..., None], *args: Any) -> None:
        self.at(self.now + delay, what, *args)

    def run(self, until: int, enough: Callable[[], bool] | None = None) -> bool:
        """Whether there was enough before the time was up."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, what, args = heapq.heappop(heap)
            self.steps += 1
            what(*args)
            if enough is not None and enough():
                return True
        self.now = until
        return False

    def note(self, *words: object) -> None:
        line = " ".join(map(str, words))
        self.digest = crc32(line.encode(), self.digest ^ (self.now & 0xFFFFFFFF))
        if self._say is not None:
            self._say(f"{self.now / SECOND:12.6f}  {line}")

    # chance

    def chance(self, probability: float) -> bool:
        return probability > 0 and self.random.random() < probability

    def between(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def one_in(self, mean: float) -> int:
        """A waiting time in microseconds, exponential with this mean in seconds."""
        return int(self.random.expovariate(1 / mean) * SECOND)
