"""What the owner of a bag wants to be told without asking: said once, when it comes to pass."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tailrace.quantities import show_money
from tailrace.report.words import count
from tailrace.scheduler import money
from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import Bag, State

STILL_US = 3600 * 1_000_000  # so long without a result is worth a word
SHARE = (8, 10)  # of the budget


class Occasion(StrEnum):
    FINISHED = "finished"
    BRAKED = "braked"
    STOPPED = "stopped"  # by the budget
    BUDGET = "budget"  # most of it is spent
    STILL = "still"  # nothing has ended for an hour


OF_PHASE = {
    BagPhase.FINISHED: Occasion.FINISHED,
    BagPhase.BRAKED: Occasion.BRAKED,
    BagPhase.STOPPED: Occasion.STOPPED,
}


class Notice(msgspec.Struct, frozen=True):
    occasion: Occasion
    bag: int
    name: str
    text: str  # one sentence
    count: int
    done: int
    failed: int
    owner: str = ""


class Seen:
    """How a bag stood when it was last looked at."""

    def __init__(self, phase: BagPhase | None, done: int, now: int) -> None:
        self.phase = phase
        self.done = done
        self.moved_us = now
        self.still = False
        self.warned: list[str] = []  # currencies


class Watchman:
    """Looks at all bags now and then. What was so when he came is no news."""

    def __init__(self) -> None:
        self._seen: dict[int, Seen] | None = None

    def look(self, state: State, now: int) -> list[Notice]:
        if self._seen is None:
            self._seen = {bag.id: _first(state, bag, now) for bag in state.bags.values()}
        found: list[Notice] = []
        for bag in state.bags.values():
            seen = self._seen.setdefault(bag.id, Seen(None, 0, now))
            if bag.runs or bag.phase is not seen.phase:
                found += self._news(state, bag, seen, now)
        return found

    def _news(self, state: State, bag: Bag, seen: Seen, now: int) -> list[Notice]:
        found = [*_phase(bag, seen), *_budget(state, bag, seen), *_still(bag, seen, now)]
        seen.phase, seen.done = bag.phase, bag.done.count
        return found


def _first(state: State, bag: Bag, now: int) -> Seen:
    seen = Seen(bag.phase, bag.done.count, now)
    _budget(state, bag, seen)
    return seen


def _phase(bag: Bag, seen: Seen) -> list[Notice]:
    occasion = OF_PHASE.get(bag.phase)
    if bag.phase is seen.phase or occasion is None:
        return []
    good = bag.done.count - bag.failed.count
    text = f"{good:,} of {count(bag.terms.count, 'task')} succeeded, {bag.failed.count:,} failed"
    return [_notice(occasion, bag, f"{bag.phase}{f': {bag.why}' if bag.why else ''}; {text}")]


def _budget(state: State, bag: Bag, seen: Seen) -> list[Notice]:
    found = []
    for currency, budget in bag.terms.budget.items():
        spent = money.spent(state, bag, currency)
        if currency not in seen.warned and spent * SHARE[1] >= budget * SHARE[0]:
            seen.warned.append(currency)
            text = f"{show_money(currency, spent)} of {show_money(currency, budget)} is spent"
            found.append(_notice(Occasion.BUDGET, bag, text))
    return found


def _still(bag: Bag, seen: Seen, now: int) -> list[Notice]:
    if bag.done.count != seen.done or bag.phase is not seen.phase:
        seen.moved_us, seen.still = now, False
    if seen.still or not bag.runs or now - seen.moved_us < STILL_US:
        return []
    seen.still = True
    left = count(bag.terms.count - bag.done.count, "task")
    text = f"no task has ended for an hour, {left} left; `tailrace explain {bag.id}` says why"
    return [_notice(Occasion.STILL, bag, text)]


def _notice(occasion: Occasion, bag: Bag, text: str) -> Notice:
    terms = bag.terms
    return Notice(occasion, bag.id, terms.name, text, terms.count, bag.done.count, bag.failed.count)
