"""How many calls are let in at once. The rest are told when to come again, before they are read.

A cycle sees to all calls that wait, so its length grows with their number, and with it the time
that each of them waits. There is room for as many as a cycle of CYCLE_S has seen to: twice as
many once it was full and quick, fewer once it was slow. What is refused costs next to nothing, so
the rate of those let in holds however many come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

CYCLE_S = 0.25  # what a cycle may last
MOST_AGE_S = 3.0  # of the oldest call that waits for its cycle
LEAST, FIRST, MOST = 32, 128, 4096  # calls in one cycle
MOST_BYTES = 256 << 20  # of bodies in hand; one alone may have more
LONGEST_S = 30  # that anybody is told to stay away
WINDOW_S = 1.0
FULL = "the server has more calls in hand than it can see to: come again"


class Full(Exception):
    """Come again after `after_s`."""

    def __init__(self, after_s: int) -> None:
        super().__init__(FULL)
        self.after_s = after_s


class Load:
    """The body of one call, as it comes in."""

    def __init__(self, turnstile: Turnstile) -> None:
        self._turnstile = turnstile
        self.bytes = 0

    def add(self, size: int, now: float) -> None:
        self.bytes += size
        self._turnstile.bytes += size
        if self._turnstile.bytes > max(MOST_BYTES, self.bytes):
            self._turnstile.refuse(now)


class Turnstile:
    def __init__(self) -> None:
        self.room = FIRST
        self.bytes = 0  # of bodies in hand
        self.refused = 0  # calls, since the start
        self.refused_at = float("-inf")
        self._waiting = 0
        self._since = 0.0  # when the oldest of them came
        self._window = 0.0
        self._let_in = self._turned_away = 0  # in this window
        self._after_s = 1

    def check(self, now: float) -> None:
        if self._waiting >= self.room or (self._waiting and now - self._since > MOST_AGE_S):
            self.refuse(now)

    def came(self, now: float) -> None:
        """A call waits for its cycle."""
        self._look_at_window(now)
        if not self._waiting:
            self._since = now
        self._waiting += 1
        self._let_in += 1

    def cycled(self, lasted_s: float) -> None:
        """All that waited have been seen to."""
        seen, self._waiting = self._waiting, 0
        if lasted_s > CYCLE_S and seen > LEAST:
            self.room = max(LEAST, min(self.room, int(seen * CYCLE_S / lasted_s)))
        elif seen >= self.room and lasted_s < CYCLE_S / 2:
            self.room = min(MOST, 2 * self.room)

    def refuse(self, now: float) -> None:
        self._look_at_window(now)
        self.refused += 1
        self._turned_away += 1
        self.refused_at = now
        raise Full(self._after_s)

    @contextmanager
    def load(self) -> Iterator[Load]:
        one = Load(self)
        try:
            yield one
        finally:
            self.bytes -= one.bytes

    def _look_at_window(self, now: float) -> None:
        """Ten times as many as can be seen to are told to stay away ten times as long."""
        if now - self._window >= WINDOW_S:
            asked = 1 + self._turned_away // max(self._let_in, 1)
            self._after_s = min(asked, LONGEST_S)
            self._window, self._let_in, self._turned_away = now, 0, 0
