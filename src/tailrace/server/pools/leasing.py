"""What the tables say of leases against what a driver lists: the difference is acted upon."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import STANDING, LeaseRow


class Act(StrEnum):
    START = "start"
    RENEW = "renew"
    STOP = "stop"
    GONE = "gone"


class Difference(msgspec.Struct, frozen=True):
    act: Act
    lease: int


def reconcile(leases: Iterable[LeaseRow], listed: Iterable[int]) -> list[Difference]:
    """Of one pool, with no driver call under way.

    A wanted lease that is not there is started (again: its number is the driver's key). One that
    was there is gone. A machine whose lease we ended, or never wrote down, is stopped. One whose
    lease stands is told its end again: a renewal that was committed may never have reached it.
    """
    there = dict.fromkeys(listed)
    known = {row.lease: row for row in leases}
    found = [Difference(act, row.lease) for row in known.values() if (act := _act(row, there))]
    strays = [lease for lease in there if lease not in known]
    return found + [Difference(Act.STOP, lease) for lease in strays]


def _act(row: LeaseRow, there: dict[int, None]) -> Act | None:
    if row.lease in there:
        return Act.RENEW if row.state in STANDING else Act.STOP
    if row.state is LeaseState.WANTED:
        return Act.START
    return None if row.state is LeaseState.GONE else Act.GONE
