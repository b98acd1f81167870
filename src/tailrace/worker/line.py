"""The worker's line to its server: the one call in hand, and when to try again.

No clock and no randomness: the jitter of a worker is a hash of who it is and how often it waited,
so that a thousand workers do not come back at the same instant, and a test can replay one.
"""

from __future__ import annotations

from typing import FrozenSet, Optional
from zlib import crc32

SECOND = 1_000_000
BACKOFF_FIRST = SECOND // 10
BACKOFF_LIMIT = 30 * SECOND
# A call with results is answered at once: its acknowledgements are something to say.
ANSWER_WITHIN = 15 * SECOND
# New results do not push aside a call whose answer is on its way, unless that takes this long.
PATIENCE = 2 * SECOND


class Line:
    def __init__(self, who: str, now: int) -> None:
        self._who = who
        self._waits = 0  # counts every pause of this session: the argument of the jitter
        self.seq = 0
        self.in_hand: Optional[int] = None
        self.made_at = now
        self.answer_by = now
        self._wait = 0  # how long the server was asked to keep the call
        self.carried: FrozenSet[int] = frozenset()
        self.not_before = now
        self.failures = 0

    def make(self, carried: FrozenSet[int], wait_s: float, now: int) -> int:
        self.seq += 1
        self.in_hand = self.seq
        self.made_at = now
        self.carried = carried
        self._wait = int(wait_s * SECOND)
        patience = 0 if carried else self._wait
        self.answer_by = now + patience + ANSWER_WITHIN
        return self.seq

    def hang_up(self) -> None:
        self.in_hand = None
        self.carried = frozenset()

    def too_soon(self, now: int) -> bool:
        """For an answer without news: a server that is well keeps the call for about its time."""
        return now - self.made_at < self._wait // 2

    def well(self, now: int) -> None:
        self.failures = 0
        self.not_before = now

    def failed(self, now: int, retry_after_s: Optional[float], limit: int) -> None:
        """Wait 0.1 s, then twice as long each time up to the limit; half of it is jitter."""
        self.hang_up()
        self.failures += 1
        full = min(BACKOFF_FIRST << min(self.failures - 1, 20), limit)
        pause = full // 2 + int(full / 2 * self._jitter())
        if retry_after_s is not None:
            asked = int(retry_after_s * SECOND)
            pause = max(pause, asked + int(asked / 4 * self._jitter()))
        self.not_before = now + min(pause, max(limit, BACKOFF_FIRST))

    def may_be_pushed_aside_at(self, now: int) -> int:
        return self.made_at + PATIENCE if self.carried else now

    def _jitter(self) -> float:
        self._waits += 1
        return crc32(f"{self._who}/{self._waits}".encode()) / 2**32
