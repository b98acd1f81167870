"""How many attempts a host may hold beyond those it can run at once.

About a second of work, so that a thousand short tasks cost one call; a fair half of what is left,
so that bundles shrink to nothing at the end and no host sits on the last tasks (guided
self-scheduling).
"""

from __future__ import annotations

from tailrace.scheduler.state import Bag

BUNDLE_US = 1_000_000
MOST = 2000


def held_at_most(bag: Bag, slots: int) -> int:
    """By a host that runs so many at once. Nothing is sent ahead before a run time is known, nor
    while tasks wait for a place to begin at once: behind others they would never find one."""
    times = bag.times
    if times.recent_us > BUNDLE_US * slots or not times.count or bag.requeue.at_once:
        return slots
    return slots + _ahead(bag, slots) if slots else 0


def is_short(bag: Bag) -> bool:
    """Do its tasks end as soon as a bundle does?"""
    return bag.times.count > 0 and bag.times.recent_us <= BUNDLE_US


def _ahead(bag: Bag, slots: int) -> int:
    times = bag.times
    in_a_second = int(BUNDLE_US * slots / max(times.recent_us, 1.0))
    fair = bag.unsent * slots // (2 * max(bag.slots, slots))
    return min(in_a_second, fair, MOST)
