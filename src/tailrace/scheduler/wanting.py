"""Bags of which replication may want one more attempt, oldest first: an offer asks these alone.

A bag enters when it opens, and whenever its strategy begins to want something. Who is found idle
leaves until then, so that an offer does not grow dearer with bags that want nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from tailrace.scheduler.state import Bag, State


def enter(state: State, bag: Bag) -> None:
    """Not one that has ended, though its last attempts may still come back: if it is taken up
    again, it enters as it opens."""
    if not bag.wanting and bag.replication is not None and bag.id in state.open:
        bag.wanting = True
        insort(state.wanting, bag.id)


def leave(state: State, bag: Bag) -> None:
    if bag.wanting:
        bag.wanting = False
        del state.wanting[bisect_left(state.wanting, bag.id)]


def bags(state: State) -> list[Bag]:
    """Most often none."""
    found = [state.bags[number] for number in state.wanting]
    idle = [bag for bag in found if _is_idle(bag)]
    if not idle:
        return found
    for bag in idle:
        leave(state, bag)
    return [bag for bag in found if bag.wanting]


def _is_idle(bag: Bag) -> bool:
    return bag.replication is None or bag.replication.idle()
