"""When hosts that were sent away are looked at again.

An offer that found nothing stays open, and nobody would look at it as long as no work and no room
comes. But policies look at what happens, and at the time. So a bag that sent hosts away looks at
them again soon after something has happened to it, and now and then if its policy, or that of a
host, looks at the clock. Only it does; and all that do, at the same whole seconds, so that they are
served in their order. Where many hosts are sent away by many bags, each waits longer: looking takes
about a tenth of the time at most.
"""

from __future__ import annotations

from tailrace.scheduler.state import Bag, State
from tailrace.scheduler.timers import Alarm

SECOND_US = 1_000_000
WATCH_US = 60 * SECOND_US  # when only time passes; and the longest pause
COST_US = 200  # of a pause, for one host and one bag: ten times what a look at it takes


def sent_away(state: State, bag: Bag, *, watched: bool) -> None:
    """A host, that another moment may bring back."""
    bag.refusals += 1
    if not bag.refused:
        bag.refused = True
        if watched:
            _look_at(state, bag, state.now + WATCH_US)


def stirred(state: State, bag: Bag) -> None:
    """Something has happened to the bag that its policy may see, after it sent hosts away."""
    bag.refused = False
    _look_at(state, bag, state.now + _pause_us(state, bag))


def _pause_us(state: State, bag: Bag) -> int:
    hosts = min(bag.refusals, len(state.offers))
    return min(max(COST_US * hosts * len(state.watchful), SECOND_US), WATCH_US)


def _look_at(state: State, bag: Bag, at_us: int) -> None:
    if not bag.look_us or at_us < bag.look_us:
        bag.look_us = at_us = -(-at_us // SECOND_US) * SECOND_US
        state.watchful[bag.id] = None
        state.timers.set(at_us, Alarm.POLICY, bag.id)


def rang(state: State, bag: Bag) -> None:
    """One that was set before an earlier one has nothing to say any more."""
    if not bag.look_us or state.now < bag.look_us:
        return
    bag.look_us, bag.refused, bag.refusals = 0, False, 0
    state.watchful.pop(bag.id, None)
    if bag.runs:
        state.fleet_due[bag.id] = None
    if bag.hungry:
        look_now(state, bag)


def look_now(state: State, bag: Bag) -> None:
    """It has work, or may go where it could not: nobody else looks, since an offer that is open was
    left by all others."""
    state.looking[bag.id] = bag


def stir_others(state: State) -> None:
    """How many bags or machines there are has changed, which some policies look at."""
    for bag in state.open.values():
        if bag.refused and bag.heeds_others:
            stirred(state, bag)


def forget(state: State, bag: Bag) -> None:
    """It has ended."""
    bag.look_us, bag.refused, bag.refusals = 0, False, 0
    state.watchful.pop(bag.id, None)
    state.looking.pop(bag.id, None)
