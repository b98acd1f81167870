"""When hosts that were sent away are looked at again.

An offer that found nothing stays open, and nobody would look at it as long as no work and no room
comes. But policies look at what happens, and at the time. So a bag that sent hosts away looks at
them again soon after something has happened to it; and if its policy, or that of a host, looks at
what changes without it: each minute at the clock, each hour at what fades, at midnight at what is
counted by day, and when other bags or machines come or go. So does one whose Concurrency kept it
from room that a host has; and one that the Concurrency of others kept from it, when bags come or
go. Only it does; and all that do, at the
same whole seconds, so that they are served in their order. Where many hosts are sent away by many
bags, each waits longer: looking takes about a tenth of the time at most.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.scheduler import records
from tailrace.scheduler.state import Bag, State
from tailrace.scheduler.timers import Alarm

SECOND_US = 1_000_000
WATCH_US = 60 * SECOND_US  # when only time passes; and the longest pause
FADING_US = 3600 * SECOND_US  # of what is halved in a day, a thirtieth is gone by then
COST_US = 200  # of a pause, for one host and one bag: ten times what a look at it takes
CLOCK, FADING, DAY, OTHERS = 1, 2, 4, 8  # what changes though nothing happens to the bag
BY_TIME = CLOCK | FADING | DAY
OF_OTHERS = ("Queue.BOTsInQueue", "Pool.Machines")
FADES, BY_DAY = "Host.RecentGoodSeconds", "Host.JobsToday"  # also those of a replica's host


def sees(keys: Iterable[str], *, clock: bool) -> int:
    """What who looks at these may see change."""
    found = CLOCK if clock else 0
    for key in keys:
        if key.endswith(FADES):
            found |= FADING
        elif key.endswith(BY_DAY):
            found |= DAY
        elif key in OF_OTHERS:
            found |= OTHERS
    return found


def sent_away(state: State, bag: Bag, seen: int) -> None:
    """A host, that another moment may bring back."""
    bag.refusals += 1
    bag.refused = True
    if seen & OTHERS:
        state.heeding[bag.id] = None
    if seen & BY_TIME:
        _look_at(state, bag, _changes_us(state, seen))


def bound_by_others(state: State, bag: Bag) -> None:
    """On a host with room for more: it looks again when one of them has nothing more to send."""
    bag.refusals += 1
    state.heeding[bag.id] = None


def _changes_us(state: State, seen: int) -> int:
    if seen & CLOCK:
        return state.now + WATCH_US
    hour_us = (state.now // FADING_US + 1) * FADING_US
    if not seen & DAY:
        return hour_us
    day_us = records.midnight_us(state)
    return min(hour_us, day_us) if seen & FADING else day_us


def stirred(state: State, bag: Bag) -> None:
    """Something has happened to the bag that its policy may see, after it sent hosts away."""
    bag.refused = False
    state.heeding.pop(bag.id, None)
    _look_at(state, bag, state.now + _pause_us(state, bag))


def _pause_us(state: State, bag: Bag) -> int:
    hosts = min(bag.refusals, len(state.offers))
    return min(max(COST_US * hosts * len(state.watchful), SECOND_US), WATCH_US)


def _look_at(state: State, bag: Bag, at_us: int) -> None:
    if not bag.look_us or at_us < bag.look_us:
        bag.look_us = at_us = -(-at_us // SECOND_US) * SECOND_US
        state.watchful[bag.id] = None
        if at_us not in bag.alarms:
            bag.alarms[at_us] = None
            state.timers.set(at_us, Alarm.POLICY, bag.id)


def rang(state: State, bag: Bag) -> None:
    """One that was set before an earlier one has nothing to say any more."""
    for at_us in [at_us for at_us in bag.alarms if at_us <= state.now]:
        del bag.alarms[at_us]
    if not bag.look_us or state.now < bag.look_us:
        return
    _forget_refusals(state, bag)
    if bag.runs:
        state.fleet_due[bag.id] = None
    if bag.hungry:
        look_now(state, bag)


def look_now(state: State, bag: Bag) -> None:
    """It has work, or may go where it could not: nobody else looks, since an offer that is open was
    left by all others."""
    state.looking[bag.id] = bag


def stir_others(state: State) -> None:
    """How many bags wait, or how many machines there are, has changed, which some policies look at:
    seldom. They look once, however often it changes until then."""
    for number in list(state.heeding) if state.heeding else ():
        stirred(state, state.bags[number])


def forget(state: State, bag: Bag) -> None:
    """It has ended."""
    _forget_refusals(state, bag)
    state.looking.pop(bag.id, None)


def _forget_refusals(state: State, bag: Bag) -> None:
    bag.look_us, bag.refused, bag.refusals = 0, False, 0
    state.watchful.pop(bag.id, None)
    state.heeding.pop(bag.id, None)
