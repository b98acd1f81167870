"""Is a bag in its tail? GridBot's answer: when few of its tasks wait to be sent. No estimate of the
number of machines is needed. Attempts that fail fill the queue again, and may end the tail, unless
the bag says that it stays."""

from __future__ import annotations

from tailrace.scheduler.decisions import Remember
from tailrace.scheduler.state import Bag, State


def in_tail(bag: Bag) -> bool:
    """A strategy that knows better has said so; see `Bag.tail_us`."""
    terms, fresh = bag.terms, bag.fresh
    if bag.tail_us is not None and (terms.tail_stays or terms.replication is not None):
        return True
    below = bag.slots if terms.tail_below is None else terms.tail_below  # as `threshold`
    unsent = fresh.arrived - fresh.sent + len(bag.requeue.waiting)
    return unsent < below or unsent == 0


def note(state: State, bag: Bag) -> None:
    """Some were sent: where a tail stays, its beginning is remembered. A strategy with a tail of
    its own remembers that."""
    if bag.tail_us is None and bag.terms.replication is None and bag.unsent < threshold(bag):
        bag.tail_us = state.now
        state.out.append(Remember(bag.row()))


def threshold(bag: Bag) -> int:
    """As many as run at once, unless the bag says how many; when none waits, it is the tail."""
    below = bag.terms.tail_below
    return max(bag.slots, 1) if below is None else max(below, 1)


def sent_before(bag: Bag) -> int:
    """So many may be sent until it begins."""
    return max(bag.unsent - threshold(bag) + 1, 0)
