"""What a host is believed to have, and its worker neither holds nor reports: how that has ended."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.events import Ended, Measured
from tailrace.scheduler.state import State
from tailrace.server.calls import Call

NOTHING = Measured()
LEFT = "its worker left"


def lost(call: Call, state: State) -> list[Ended]:
    """Rule 4: of an earlier session."""
    return [_ended(one, Outcome.LOST) for one in _unknown(call, state)]


def left(call: Call, state: State, held: Collection[int]) -> list[Ended]:
    """Its worker ends. What it was sent and has not heard of is handed back, since it obeys the
    reply to no earlier call any more; what it `held` before, and says nothing of, is lost."""
    return [
        _ended(one, Outcome.LOST, Measured(text=LEFT))
        if one.attempt in held
        else _ended(one, Outcome.CANCELLED, Measured(text=LEFT, unheard=True))
        for one in _unknown(call, state)
    ]


def dropped(call: Call, state: State) -> list[Ended]:
    """It was told to drop it, and does not have it (any more): that is over."""
    live = state.hosts[call.request.host].live
    gone = (one for one in live.values() if one.dropping is not None)
    return [_ended(one, Outcome.CANCELLED) for one in gone if one.attempt not in call.held]


def _unknown(call: Call, state: State) -> Iterator[Attempt]:
    reported = dict.fromkeys(result.attempt for result in call.request.results)
    for number, one in state.hosts[call.request.host].live.items():
        if number not in call.held and number not in reported:
            yield one


def _ended(one: Attempt, outcome: Outcome, measured: Measured = NOTHING) -> Ended:
    return Ended(one.attempt, one.bag, one.index, one.host, outcome, measured)
