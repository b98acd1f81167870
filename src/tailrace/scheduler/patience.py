"""A time-out that a strategy guessed was too short for its task: the next is longer.

An attempt that ran all the while, and was given up only for its time-out, says that its task takes
longer than that. Where late results count it runs on; where they do not, the next attempt has twice
the time, and costs no retry: else it would be given up again, and again be paid.
"""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.state import Bag, State, Trouble

MOST = 1024  # times what others of its bag have: a task that never ends must be given up


def at_least(bag: Bag, index: int, usual_us: int | None) -> int | None:
    trouble = bag.troubles.get(index) if bag.troubles else None
    if trouble is None or usual_us is None:
        return usual_us
    return max(usual_us, 2 * trouble.longer_us)


def lengthen(state: State, bag: Bag, attempt: Attempt, trouble: Trouble) -> None:
    """It has run until its time-out, which is booked."""
    replication, had_us = bag.replication, attempt.timeout_us
    if replication is None or had_us is None:
        return
    if not replication.lengthens(state, bag, attempt.index):
        return
    usual_us = replication.timeout_us(state, bag, state.hosts[attempt.host])
    if usual_us is not None and had_us < MOST * usual_us:
        trouble.longer_us = max(trouble.longer_us, had_us)
        trouble.unbook(Outcome.EXPIRED)
