"""Bags whose tasks are matched only every so often: until then offers wait, and so do tasks.

A round is held only if it is asked for, by an offer for what waits: while nothing is left to send,
or no host has room, nobody wakes for it.
"""

from __future__ import annotations

from tailrace.scheduler.state import ENDED, Bag, State
from tailrace.scheduler.timers import Alarm


def ask_for(state: State, bag: Bag) -> None:
    """Rounds are counted from the bag's submission, also after a restart. One of this very moment
    sees all that comes with it, unless it has been held."""
    if bag.round_asked:
        return
    every_us = bag.terms.round_us
    due_us = state.now + (bag.submitted_us - state.now) % every_us
    if due_us <= bag.round_us:
        due_us += every_us
    bag.round_asked = True
    state.timers.set(due_us, Alarm.ROUND, bag.id)


def open_round(state: State, bag: Bag) -> None:
    bag.round_asked = False
    if bag.phase not in ENDED:
        bag.round_open, bag.round_us = True, state.now
        state.rounds.append(bag)
        state.supply = True


def close_rounds(state: State) -> None:
    for bag in state.rounds:
        bag.round_open = False
    state.rounds.clear()
