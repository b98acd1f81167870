"""How many calls are let in at once. The rest are told when to come again, before they are read.

A cycle sees to all calls that wait, so the time that each of them waits grows with their number.
There is room for as many as were seen to within CYCLE_S of the first of them: twice as many once
it was full and quick, fewer once it was slow.

To refuse costs less than to see to a call, but not nothing. So each that is refused is told to come
behind those refused before, one by one and few a second beside those that are seen to: whose rate
then holds, however many there are.

Bodies in hand take memory, which is bounded; each caller has his share of it, some is left for work
calls, and who has little in hand is always let in: so nobody who is slow keeps others out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

CYCLE_S = 0.5  # from the first call that waits for a cycle to its end
MOST_AGE_S = 3.0  # of the oldest call that waits for its cycle
LEAST, FIRST, MOST = 32, 128, 4096  # calls in one cycle
MOST_BYTES = 256 << 20  # of bodies in hand; one alone may have more
SHARE = 1 / 2  # of that, for all bodies of one caller
WORK_SHARE = 1 / 4  # of that, which work calls alone may fill
LITTLE = 1 << 20  # that everybody may have in hand
LONGEST_S = 30  # that anybody is told to stay away
WINDOW_S = 1.0
KEPT = 0.95  # a second, of the best rate: it says what can be done, a moment says little
FEW = 1 / 4  # that come again, beside those that are seen to
FULL = "the server has more calls in hand than it can see to: come again"


class Full(Exception):
    """Come again after `after_s`."""

    def __init__(self, after_s: int) -> None:
        super().__init__(FULL)
        self.after_s = after_s


class Load:
    """The body of one call, as it comes in."""

    def __init__(self, turnstile: Turnstile, whose: str, *, works: bool) -> None:
        self._turnstile = turnstile
        self.whose = whose
        self._most = MOST_BYTES * (1 if works else 1 - WORK_SHARE)
        self.bytes = 0

    def add(self, size: int, now: float) -> None:
        self.bytes += size
        self._turnstile.hold(self.whose, size)
        his, all_of_them = self._turnstile.of.get(self.whose, 0), self._turnstile.bytes
        if his > LITTLE and his > max(MOST_BYTES * SHARE, self.bytes):
            self._turnstile.refuse(now)
        if his > LITTLE and all_of_them > max(self._most, self.bytes):
            self._turnstile.refuse(now)


class Turnstile:
    def __init__(self) -> None:
        self.room = FIRST
        self.bytes = 0  # of bodies in hand
        self.of: dict[str, int] = {}  # of these, by caller
        self.refused = 0  # calls, since the start
        self.refused_at = float("-inf")
        self._entering = 0  # let in by their heads, and not looked at yet
        self._waiting = 0
        self._since = 0.0  # when the oldest of them came
        self._window = 0.0
        self._let_in = 0  # in this window
        self._rate = 0.0  # a second that were let in, at best, of late
        self._comes_last = float("-inf")  # of those refused: when the last of them comes again

    def full(self, now: float) -> bool:
        late = self._waiting > 0 and now - self._since > MOST_AGE_S
        return late or self._entering + self._waiting >= self.room

    def enter(self) -> None:
        """A head was let in. Many are read before the first of their calls is looked at."""
        self._entering += 1

    def entered(self) -> None:
        self._entering -= 1

    def check(self, now: float) -> None:
        if self.full(now):
            self.refuse(now)

    def came(self, now: float) -> None:
        """A call waits for its cycle."""
        self._look_at_window(now)
        if not self._waiting:
            self._since = now
        self._waiting += 1
        self._let_in += 1

    def clear(self) -> None:
        """Nobody waits any more."""
        self._waiting = 0

    def cycled(self, now: float) -> None:
        """All that waited have been seen to."""
        seen, self._waiting = self._waiting, 0
        lasted_s = now - self._since
        if lasted_s > CYCLE_S and seen > LEAST:
            fewer = max(int(seen * CYCLE_S / lasted_s), self.room // 2)  # it may have been chance
            self.room = max(LEAST, min(self.room, fewer))
        elif seen >= self.room and lasted_s < CYCLE_S / 2:
            self.room = min(MOST, 2 * self.room)

    def refuse(self, now: float) -> None:
        self.refused += 1
        self.refused_at = now
        a_second = FEW * max(self._rate, max(self.room, LEAST) / CYCLE_S)
        comes = max(self._comes_last, now) + 1 / a_second
        self._comes_last = min(comes, now + LONGEST_S)
        raise Full(min(math.ceil(self._comes_last - now), LONGEST_S))

    @contextmanager
    def load(self, whose: str = "", *, works: bool = False) -> Iterator[Load]:
        one = Load(self, whose, works=works)
        try:
            yield one
        finally:
            self.hold(whose, -one.bytes)

    def hold(self, whose: str, size: int) -> None:
        self.bytes += size
        his = self.of.pop(whose, 0) + size
        if his:
            self.of[whose] = his

    def _look_at_window(self, now: float) -> None:
        passed_s = now - self._window
        if passed_s >= WINDOW_S:
            self._rate = max(self._let_in / passed_s, self._rate * KEPT**passed_s)
            self._window, self._let_in = now, 0
