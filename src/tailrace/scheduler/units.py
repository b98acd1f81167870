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
    if row.billing.price:
        state.timers.set(_next_look(row, state.now), Alarm.UNIT, row.lease)


def _next_look(row: LeaseRow, now: int) -> int:
    span = _span(row.billing)
    lasted = max(now - row.wanted_us, row.billing.minimum_us, 1)
    end = row.wanted_us + -(-lasted // span) * span
    left, ahead = end - now, max(span // FIRST_LOOK, LEAST_AHEAD_US)
    if left > ahead:
        return end - ahead
    return end - left // 4 if left > span // LAST_LOOK else end + span - ahead


def _span(billing: Billing) -> int:
    return -(-LEAST_US // billing.unit_us) * billing.unit_us
