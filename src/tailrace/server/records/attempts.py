"""The attempts of a task, numbered as people count: 1, 2, 3, in the order in which they were sent.

In the store an attempt has a number that no other has, which is long once a server has started
again (see `lives`). It is in JSON, and nobody has to read or type it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report.record import AttemptRecord
from tailrace.server.protocol import WorkResult
from tailrace.server.tables.link import Link, stream

_work_result = msgspec.json.Decoder(WorkResult).decode

# The attempt that made a result that was taken over is one of an earlier bag.
OF_TASK = """
SELECT attempt, idx, host, lease, why, sent_us, ended_us, outcome, accepted, body FROM attempts
WHERE (bag = ? AND idx = ?) OR attempt = (SELECT attempt FROM results WHERE bag = ? AND idx = ?)
ORDER BY attempt
"""
SENT = """
SELECT attempt, idx, host, lease, sent_us, ended_us, outcome, run_us, accepted FROM {}
ORDER BY attempt
"""

NEWEST = "(SELECT * FROM attempts ORDER BY attempt DESC LIMIT ?) AS newest"
# Of each bag no more than is wanted of all: as much is read of a user however many others have
# sent, and however long his bags are.
OF_OWNER = """
(SELECT a.* FROM bags b CROSS JOIN attempts a
 WHERE b.owner = ? AND a.bag = b.bag AND a.attempt > coalesce(
    (SELECT c.attempt FROM attempts c WHERE c.bag = b.bag
     ORDER BY c.attempt DESC LIMIT 1 OFFSET {most}), 0)
 ORDER BY a.attempt DESC LIMIT {most}) AS newest
"""


class AttemptFacts(msgspec.Struct, frozen=True):
    attempt: int
    ordinal: int  # among those of its task, from 1
    index: int
    host: str
    lease: int | None
    why: str
    sent_us: int
    ended_us: int | None
    outcome: Outcome | None
    accepted: bool
    result: WorkResult | None


def of_task(link: Link, bag: int, index: int) -> Iterator[AttemptFacts]:
    """Numbers grow in every life of a store: their order is that of sending."""
    rows = stream(link, OF_TASK, (bag, index, bag, index))
    for ordinal, row in enumerate(rows, 1):
        number, task, host, lease, why, sent, ended, outcome, accepted, body = row
        told = _work_result(body) if body else None
        how = Outcome(outcome) if outcome else None
        yield AttemptFacts(
            number, ordinal, task, host, lease, why, sent, ended, how, bool(accepted), told
        )


def of_bag(link: Link, bag: int, pool_of: Mapping[str, str]) -> list[AttemptRecord]:
    """When and how each went, without what its worker said."""
    return list(_sent(link, "attempts WHERE bag = ?", bag, pool_of))


def newest(link: Link, most: int, pool_of: Mapping[str, str]) -> list[AttemptRecord]:
    """The same of all bags: the newest, in the order in which they were sent."""
    return list(_sent(link, NEWEST, most, pool_of))


def newest_of(link: Link, owner: str, most: int, pool_of: Mapping[str, str]) -> list[AttemptRecord]:
    """Those of one user's bags."""
    return list(_sent(link, OF_OWNER.format(most=most), owner, pool_of))


def _sent(
    link: Link, which: str, value: int | str, pool_of: Mapping[str, str]
) -> Iterator[AttemptRecord]:
    rows = stream(link, SENT.format(which), (value,))
    for number, index, host, lease, sent, ended, outcome, run, accepted in rows:
        yield AttemptRecord(
            attempt=number,
            index=index,
            host=host,
            pool=pool_of.get(host, ""),
            lease=lease,
            sent_us=sent,
            ended_us=ended,
            outcome=Outcome(outcome) if outcome else None,
            run_us=run,
            accepted=bool(accepted),
        )


def named(link: Link, number: int) -> str:
    """`2 of task 1/17`; of a bag that is gone, the number itself."""
    query = "SELECT bag, idx FROM attempts WHERE attempt = ?"
    for bag, index in link.execute(query, (number,)).fetchall():
        for one in of_task(link, bag, index):
            if one.attempt == number:
                return f"{one.ordinal} of task {bag}/{index}"
    return str(number)


def chosen(found: list[AttemptFacts], number: int) -> list[AttemptFacts]:
    """By the number that people see; else by the one that no other attempt has."""
    seen = [one for one in found if one.ordinal == number]
    return seen or [one for one in found if one.attempt == number]
