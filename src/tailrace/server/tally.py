"""How a bag stands, in the numbers that the feed carries and every view shows."""

from __future__ import annotations

from typing import Any

from tailrace.bag.outcome import Outcome
from tailrace.knowledge.remaining import time_left
from tailrace.scheduler.brakes import sign
from tailrace.scheduler.events import Measured
from tailrace.scheduler.money import committed, spent
from tailrace.scheduler.progress import begun
from tailrace.scheduler.state import Bag, State
from tailrace.server.protocol import WorkResult


def tally(state: State, bag: Bag) -> dict[str, Any]:
    told: dict[str, Any] = {
        "done": bag.done.count,
        "failed": bag.failed.count,
        "running": running(bag),
    }
    undone = bag.terms.count - bag.done.count
    left = time_left(bag.times, undone, bag.slots, begun(bag) if bag.telling else 0.0)
    if left is not None:
        told["left"] = [left.low_us, left.mean_us, left.high_us]
    money = _money(state, bag)
    if money:
        told["money"] = money
    return told


def running(bag: Bag) -> int:
    """What more is sent lies ready on its host."""
    return min(len(bag.live), bag.slots)


def _money(state: State, bag: Bag) -> list[list[Any]]:
    priced = [pool.billing.currency for pool in state.pools.values() if pool.billing.price]
    return [
        [name, spent(state, bag, name), committed(state, bag, name), bag.terms.budget.get(name)]
        for name in dict.fromkeys([*priced, *bag.terms.budget])
    ]


def failure(outcome: Outcome, result: WorkResult | None) -> tuple[str, str]:
    """What makes it alike to others, and the text to show."""
    code, text = (result.exit, result.text()) if result else (None, "")
    how = outcome.replace("_", " ")
    shown = f"{how}, exit {code}" if code else how
    if result is not None and result.limit:
        shown += f" ({result.limit})"
    return f"{how} {sign(Measured(exit=code, text=text))}", f"{shown}: {text}" if text else shown
