"""What went wrong in a bag, as far as it still stands."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report.failures import FailureGroup, group_failures
from tailrace.report.record import AttemptRecord
from tailrace.scheduler.rows import TaskRow
from tailrace.server.records.recording import Brief
from tailrace.server.tables.link import Link, stream

#: Nobody's fault: they ended well, we ended them, or their machine was taken away.
_FINE = "('succeeded', 'cancelled', 'preempted')"


def went_wrong(link: Link, bag: int) -> list[FailureGroup]:
    """In groups; without tasks whose owner has asked to try them again, until they fail anew."""
    saved = link.execute(
        f"SELECT DISTINCT idx FROM attempts a JOIN results r USING (bag, idx)"
        f" WHERE bag = ? AND r.outcome = 'succeeded' AND a.outcome NOT IN {_FINE}",
        (bag,),
    )
    reopened = _reopened(link, bag)
    found = (one for one in _failed(link, bag) if one.index not in reopened)
    return group_failures(found, {row[0] for row in saved})


def _reopened(link: Link, bag: int) -> set[int]:
    """Tasks without a result that start from nothing, although they have had attempts."""
    rows = link.execute("SELECT row FROM troubles WHERE bag = ?", (bag,))
    tasks = (msgspec.json.decode(row[0], type=TaskRow) for row in rows)
    return {task.index for task in tasks if not task.counts and not task.unsettled}


def _failed(link: Link, bag: int) -> Iterator[AttemptRecord]:
    rows = stream(
        link,
        "SELECT attempt, idx, host, sent_us, outcome, exit, body FROM attempts"
        f" WHERE bag = ? AND outcome NOT IN {_FINE} ORDER BY attempt",
        (bag,),
    )
    for attempt, index, host, sent, outcome, code, body in rows:
        yield AttemptRecord(
            attempt=attempt,
            index=index,
            host=host,
            pool="",
            sent_us=sent,
            outcome=Outcome(outcome),
            exit=code,
            error=msgspec.json.decode(body, type=Brief).text() if body else "",
        )
