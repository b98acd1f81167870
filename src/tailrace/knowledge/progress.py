"""How far an attempt is, as its task tells, and when it ends if it goes on so."""

from __future__ import annotations

import msgspec


class Reached(msgspec.Struct, frozen=True, gc=False):
    done: float  # from 0 to 1
    ran_us: int  # until it told that, by the clock of its host
    at_us: int  # when we heard of it
    cpu_us: int = 0  # used until then; 0: not measured
    text: str = ""  # what it says beside

    def left_us(self, now: int) -> int | None:
        """At the rate so far; below 0 when it should have ended. None: it has not begun yet."""
        if self.done <= 0:
            return None
        return round(self.ran_us * (1 - self.done) / self.done) - (now - self.at_us)
