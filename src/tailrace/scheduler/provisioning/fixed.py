"""As many machines of each admitted pool as it lends, but no more than the bag has tasks left."""

from __future__ import annotations

from tailrace.scheduler.state import Bag, State


def fleet(state: State, bag: Bag) -> dict[str, int]:
    if not bag.runs:
        return {}
    left = bag.terms.count - bag.done.count
    admitted = bag.terms.pools or tuple(state.pools)
    return {name: min(state.pools[name].max, left) for name in admitted if name in state.pools}
