"""The part of its time that a machine was there (thesis eqs. 4.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.simulation.usage import Meter


class Availability:
    """Counts the time since it arrived, until it departs; an outage that is still open counts up to
    the moment of asking."""

    __slots__ = ("_belongs", "_down", "outages")

    def __init__(self) -> None:
        self._belongs, self._down = Meter(), Meter()
        self.outages = 0

    def arrive(self, now: int) -> None:
        self._belongs.set(True, now)

    def depart(self, now: int) -> None:
        self._belongs.set(False, now)
        self._down.set(False, now)

    def go_down(self, now: int) -> None:
        self._down.set(True, now)
        self.outages += 1

    def come_up(self, now: int) -> None:
        self._down.set(False, now)

    def belongs_us(self, now: int) -> int:
        return self._belongs.total(now)

    def down_us(self, now: int) -> int:
        return self._down.total(now)

    def up_us(self, now: int) -> int:
        return self.belongs_us(now) - self.down_us(now)

    def share(self, now: int) -> float | None:
        """Eq. 4.1, as a part of 1; of the time that it belonged to the system. None: it never
        did."""
        belongs = self.belongs_us(now)
        return self.up_us(now) / belongs if belongs else None


def of_all(machines: Iterable[Availability], now: int) -> float | None:
    """Eq. 4.2: the mean over all machines that were ever there, each counting the same."""
    every = (machine.share(now) for machine in machines)
    shares = [share for share in every if share is not None]
    return sum(shares) / len(shares) if shares else None
