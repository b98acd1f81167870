"""Bags whose tasks are matched only every so often: until then offers wait, and so do tasks."""

from __future__ import annotations

from tailrace.scheduler.state import ENDED, Bag, State
from tailrace.scheduler.timers import Alarm


def begin(state: State, bag: Bag) -> None:
    """Rounds are counted from the bag's submission, also after a restart."""
    if bag.round_us > state.now:
        return  # it is awaited already
    since = state.now - bag.submitted_us
    bag.round_us = state.now - since % bag.terms.round_us + bag.terms.round_us
    state.timers.set(bag.round_us, Alarm.ROUND, bag.id)


def open_round(state: State, bag: Bag) -> None:
    if bag.phase not in ENDED:
        bag.round_open = True
        state.rounds.append(bag)
        state.supply = True
        begin(state, bag)


def close_rounds(state: State) -> None:
    for bag in state.rounds:
        bag.round_open = False
    state.rounds.clear()
