"""How many attempts a host may hold beyond those it can run at once.

About a second of work, so that a thousand short tasks cost one call; a fair half of what is left,
so that bundles shrink to nothing at the end and no host sits on the last tasks (guided
self-scheduling).
"""

from __future__ import annotations

from tailrace.scheduler.state import Bag, State

BUNDLE_US = 1_000_000
MOST = 2000


def held_at_most(state: State, bag: Bag, slots: int) -> int:
    """By a host that runs so many at once."""
    return slots + _ahead(state, bag, slots) if slots else 0


def _ahead(state: State, bag: Bag, slots: int) -> int:
    if not bag.times.count:
        return 0
    in_a_second = int(BUNDLE_US * slots / max(bag.times.recent_us, 1.0))
    fair = bag.unsent * slots // (2 * max(fleet_slots(state, bag), slots, 1))
    return min(in_a_second, fair, MOST)


def fleet_slots(state: State, bag: Bag) -> int:
    """Tasks of this bag that run at once on all hosts present; counted anew when hosts change."""
    if bag.fleet_version != state.fleet_version:
        bag.fleet_slots = sum(
            host.slots(bag.terms.needs) for host in state.hosts.values() if host.present
        )
        bag.fleet_version = state.fleet_version
    return bag.fleet_slots
