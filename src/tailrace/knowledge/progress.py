"""How far an attempt is, as its task tells, and when it ends if it goes on so."""

from __future__ import annotations

import math

import msgspec
from msgspec.structs import replace

FOR_EVER_US = 1 << 62  # longer: as good as no rate at all


class Reached(msgspec.Struct, frozen=True, gc=False):
    done: float  # from 0 to 1
    ran_us: int  # until it told that, by the clock of its host
    at_us: int  # when it told that, by ours
    cpu_us: int = 0  # used until then; 0: not measured
    text: str = ""  # what it says beside
    from_done: float = 0.0  # where its rate is reckoned from: its first word, once there are two
    from_us: int = 0

    def after(self, known: Reached | None) -> Reached:
        """With the rate since it first told: before that it may have read its input, or begun at a
        checkpoint. Who falls back has begun anew."""
        if known is None:
            return self
        if self.done < known.done:
            return replace(self, from_us=known.ran_us)
        if known.from_us:
            return replace(self, from_done=known.from_done, from_us=known.from_us)
        return replace(self, from_done=known.done, from_us=known.ran_us)

    def left_us(self, now: int) -> int | None:
        """At the rate so far; below 0 when it should have ended. None: there is no rate yet."""
        gained, took_us = self.done - self.from_done, self.ran_us - self.from_us
        left = took_us * (1 - self.done) / gained if gained > 0 else math.inf
        return None if left > FOR_EVER_US else round(left) - (now - self.at_us)
