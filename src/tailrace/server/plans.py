"""What the feed tells of a plan: what it should come to, and what had been spent by then, so that
it can be compared with what happened."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.scheduler import money
from tailrace.scheduler.events import PlanReady
from tailrace.scheduler.state import State


def holds(state: State, ready: PlanReady) -> bool:
    """It may have come too late, or for a bag that is gone."""
    bag = state.bags.get(ready.bag)
    return bag is not None and ready.plan is not None and bag.plan is ready.plan


def told(state: State, ready: PlanReady) -> dict[str, Any]:
    assert ready.plan is not None
    facts: dict[str, Any] = msgspec.to_builtins(ready.plan)
    bag = state.bags[ready.bag]
    return {**facts, "spent": money.spent(state, bag, ready.plan.currency)}
