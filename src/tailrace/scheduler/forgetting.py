"""A bag that ended long ago leaves the scheduler's mind, and the tables after it."""

from __future__ import annotations

from tailrace.scheduler import leases
from tailrace.scheduler.decisions import Forget
from tailrace.scheduler.events import BagForgotten
from tailrace.scheduler.state import ENDED, Bag, State


def forget(state: State, event: BagForgotten) -> None:
    """Not while anything of it is under way, whoever says so."""
    leases.let_go(state)
    bag = state.bags.get(event.bag)
    if bag is None or not _is_over(state, bag):
        return
    del state.bags[bag.id]
    state.fleet_due.pop(bag.id, None)
    state.out.append(Forget(bag.id))


def _is_over(state: State, bag: Bag) -> bool:
    owed = any(row.bag == bag.id for row in state.leases.values())
    paying = any(host.payer == bag.id for host in state.able.values())
    return bag.phase in ENDED and not (bag.live or bag.queued or owed or paying)
