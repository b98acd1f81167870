"""As many machines of each admitted pool as it lends, for as long as the bag has work."""

from __future__ import annotations

from tailrace.scheduler.state import Bag, State


def fleet(state: State, bag: Bag) -> dict[str, int]:
    if not bag.runs:
        return {}
    admitted = bag.terms.pools or tuple(state.pools)
    return {name: state.pools[name].max for name in admitted if name in state.pools}
