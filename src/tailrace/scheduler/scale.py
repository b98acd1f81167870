"""By what owners, and bags of one owner, are compared: what they have had of the machines, and what
they hold now.

A core that somebody holds counts for what it has been held until now, and for an hour that is yet
to come: so who holds fewer comes first, whatever tasks take, and what was had before decides where
that differs by more. How long things have been held is looked at once a minute, not with every
offer: or else the places in line of all who hold anything would change all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.scheduler.state import Account, Bag

SECOND_US = 1_000_000
AHEAD_US = 3600 * SECOND_US  # for which a core counts that is held


class Scale:
    """What is held grows by itself. So that nothing is reckoned meanwhile, `used` is as if it had
    been held from the beginning of all time, and less that."""

    __slots__ = ("_ahead", "weight")

    def __init__(self) -> None:
        self.weight = 1e-6  # with which a microsecond of a thousandth of a core counts now
        self._ahead = 0.0  # of such a thousandth, from the beginning until an hour from now

    def reckon(self, now: int) -> None:
        self._ahead = (now + AHEAD_US) * self.weight

    def had(self, one: Account | Bag) -> float:
        """It grows by itself, but for what is given back."""
        return one.used + one.held * self._ahead

    def until(self, mine: float, others: float, cores: int) -> int:
        """So many tasks may be sent of who has had less, or as much, until the other has."""
        return max(int((others - mine) / (cores * self._ahead)), 0) + 1

    def used(self, one: Account | Bag, now: int) -> int:
        """Without what is yet to come."""
        return one.used + int(one.held * now * self.weight)
