"""Paid units: when a lease is looked at, shortly before it would enter another.

An idle machine is given back at the end of the unit that is paid (BaTS thesis 3.1.3). One that is
at work is looked at again when a quarter of the rest is left, and so on: it may end just in time.
"""

from __future__ import annotations

from tailrace.pools.terms import SECOND_US, Billing
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import State
from tailrace.scheduler.timers import Alarm

LEAST_US = 10 * SECOND_US  # units that are shorter are looked at several at once
FIRST_LOOK = 60  # when so small a part of the unit is left: of an hour, the last minute
LEAST_AHEAD_US = 2 * SECOND_US  # a machine needs a moment to end
LAST_LOOK = 3600  # later there is no time to give it back


def watch(state: State, row: LeaseRow) -> None:
    """A lease without a price may stand idle."""
    if row.billing.by_lease:
        state.at_work.pop(row.lease, None)
        state.timers.set(_next_look(row, state.now), Alarm.UNIT, row.lease)


def rest(state: State, row: LeaseRow) -> None:
    """It is at work: however many units pass, it is looked at again when it falls idle."""
    state.at_work[row.lease] = None


def fell_idle(state: State, lease: int | None) -> None:
    """A host of it has ended its last, or left."""
    if lease is not None and lease in state.at_work:
        watch(state, state.leases[lease])


def _next_look(row: LeaseRow, now: int) -> int:
    """Of the same moments, whenever it is asked."""
    span = _span(row.billing)
    lasted = max(now - row.wanted_us, row.billing.minimum_us, 1)
    end = row.wanted_us + -(-lasted // span) * span
    first = ahead = max(span // FIRST_LOOK, LEAST_AHEAD_US)
    while end - ahead <= now and ahead > span // LAST_LOOK:
        ahead //= 4
    return end - ahead if end - ahead > now else end + span - first


def _span(billing: Billing) -> int:
    return -(-LEAST_US // billing.unit_us) * billing.unit_us
