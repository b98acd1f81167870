"""What a replication strategy is asked.

It keeps the attempts it *wants*, in order; an offer takes the first that may go there. Dropping one
that is only wanted costs nothing. What is kept here follows from the tasks' rows and from attempts,
live and past, so that a restart loses nothing. This one wants nothing beyond what the bag itself
sends.
"""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.knowledge.inquiry import Plan
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.rows import PastRow
from tailrace.scheduler.state import Bag, Host, State, Trouble


@mypyc_attr(allow_interpreted_subclasses=True)
class Replication:
    name = "none"
    sets_timeout = False  # of attempts; else the bag does
    keeps_losers = False  # what still runs for a task with a result is left to end by itself

    def contradiction(self) -> tuple[str, str] | None:
        """Of options that are good one by one but not together, and what to write instead. Asked
        when a bag is handed in: those that are there already are read whatever they say."""
        return None

    def admits_first(self, state: State, bag: Bag, reliable: bool) -> bool:
        """May hosts of reliable pools, or of the others, be sent tasks that were never sent?"""
        return True

    def begins_on(self, state: State, bag: Bag, *, reliable: bool) -> bool:
        """The same of hosts that are yet to be leased."""
        return True

    def timeout_us(self, state: State, bag: Bag, host: Host) -> int | None:
        """Where it sets them."""
        return bag.terms.timeout_us

    def lengthens(self, state: State, bag: Bag, index: int) -> bool:
        """Was the time-out of this task a guess, which is mended where it proves too short?"""
        return False

    def sent(self, state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
        """An attempt is out."""

    def over(self, state: State, bag: Bag, attempt: Attempt, succeeded: bool) -> None:
        """An attempt is out no longer."""

    def ended(self, state: State, bag: Bag, attempt: Attempt, outcome: Outcome) -> None:
        """The same, and how."""

    def settled(self, state: State, bag: Bag, index: int) -> None:
        """A task has its result."""

    def sends_again(self, state: State, bag: Bag, index: int, trouble: Trouble) -> bool:
        """Is it for the strategy to send this task again, which has no attempt under way?"""
        return False

    def tries_surely(self, state: State, bag: Bag, index: int) -> bool:
        """More was lost of this task, or expired, than its owner forgives. Is it sent once more,
        where it should not fail, before it is given up?"""
        return False

    def waits(self, index: int) -> bool:
        """Will the strategy send this task again?"""
        return False

    def wants(self, bag: Bag, reliable: bool) -> bool:
        """Anything at all on hosts of reliable pools, or on the others; asked with every offer."""
        return False

    def idle(self) -> bool:
        """Nothing is wanted, wherever, until the strategy says so to `wanting`; a bag of which that
        is never true is asked with every offer."""
        return False

    def goes_first(self) -> bool:
        """Does what it wants come before all that was never sent, whoever ranks higher? Else what
        is wanted comes before tasks of bags that rank below its own."""
        return False

    def lacks(self, bag: Bag, *, reliable: bool) -> int:
        """Attempts that are worth a machine of such a pool, which would begin on it at once."""
        return 0

    def groups(self, bag: Bag) -> dict[Group, int]:
        """More of those: how many of each that go by the bag's policy alone, beside the hosts that
        have them already."""
        return {}

    def take(self, state: State, bag: Bag, host: Host) -> int | None:
        """The first task wanted that may go to this host, which has room for it. The bag's policy
        is asked, too."""
        return None

    def grew(self, state: State, bag: Bag) -> None:
        """The bag has more tasks than it had."""

    def rang(self, state: State, bag: Bag) -> None:
        """A moment it had asked for has come."""

    def planned(self, state: State, bag: Bag, number: int, plan: Plan | None) -> None:
        """The answer to its inquiry of this number; None: there is none."""

    def plan_due(self, state: State, bag: Bag) -> None:
        """The moment to ask for another plan has come."""

    def resumed(self, state: State, bag: Bag) -> None:
        """The bag was paused, and runs again."""

    def looks_back(self, past: list[PastRow]) -> None:
        """The newest attempts of the bag that have ended, as the tables have them; `restore` comes
        after that, when the pools are known."""

    def restore(self, state: State, bag: Bag) -> None:
        """The bag has come back from its rows, and the pools are known."""
