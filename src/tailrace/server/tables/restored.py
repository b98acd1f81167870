"""All that the scheduler must know again, read from the tables; from any process."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.bag.columns import Columns, columns
from tailrace.policy.parameters import names_in
from tailrace.scheduler.rows import (
    MOST_PAST,
    AttemptRow,
    BagPhase,
    BagRow,
    HostRow,
    LeaseRow,
    PastRow,
    Restored,
    TaskRow,
    UseRow,
)
from tailrace.server.records.reading import content
from tailrace.server.tables.link import Link


def restored(link: Link) -> Restored:
    bags = _rows(link, "SELECT row FROM bags ORDER BY bag", BagRow)
    bits = {bag.bag: _bits(link, bag.bag, bag.terms.count) for bag in bags}
    permutations = "SELECT bag, permutation FROM bags WHERE permutation IS NOT NULL"
    return Restored(
        bags=bags,
        done={bag: done for bag, (done, _) in bits.items()},
        failed={bag: failed for bag, (_, failed) in bits.items() if any(failed)},
        permutations=dict(link.execute(permutations).fetchall()),
        tasks=_rows(link, "SELECT row FROM troubles ORDER BY bag, idx", TaskRow),
        attempts=_live(link),
        hosts=_rows(link, "SELECT row FROM hosts ORDER BY host", HostRow),
        leases=_rows(link, "SELECT row FROM leases ORDER BY lease", LeaseRow),
        next_attempt=_next(link, "SELECT coalesce(max(attempt), 0) FROM attempts", "last_attempt"),
        next_lease=_next(link, "SELECT coalesce(max(lease), 0) FROM leases", "last_lease"),
        uses=_rows(link, "SELECT row FROM uses ORDER BY bag, owner", UseRow),
        columns={bag.bag: _columns(link, bag) for bag in bags if names_in(bag.terms.policy)},
        past=[row for bag in bags if _looks_back(bag) for row in past(link, bag.bag)],
    )


def _bits(link: Link, bag: int, count: int) -> tuple[bytes, bytes]:
    done, failed = bytearray((count + 7) // 8), bytearray((count + 7) // 8)
    for (index,) in link.execute("SELECT idx FROM results WHERE bag = ?", (bag,)):
        done[index >> 3] |= 1 << (index & 7)
    unlucky = "SELECT idx FROM results WHERE bag = ? AND outcome <> 'succeeded'"
    for (index,) in link.execute(unlucky, (bag,)):
        failed[index >> 3] |= 1 << (index & 7)
    return bytes(done), bytes(failed)


def _columns(link: Link, row: BagRow) -> Columns:
    """What its policy looks at is found again in its tasks, and so is stored once."""
    return columns(content(link, row.bag), names_in(row.terms.policy))


def _live(link: Link) -> list[AttemptRow]:
    rows = link.execute(
        "SELECT attempt, bag, idx, host, sent_us, timeout_us FROM live_attempts ORDER BY attempt"
    )
    return [AttemptRow(*row) for row in rows]


def _looks_back(bag: BagRow) -> bool:
    return bag.terms.replication is not None and bag.phase is not BagPhase.FINISHED


def past(link: Link, bag: int) -> list[PastRow]:
    """The newest that have ended. By the index of its attempts, neither all of a large bag nor what
    others sent is looked at."""
    rows = link.execute(
        "SELECT bag, host, sent_us, ended_us, timeout_us, outcome, idx, run_us FROM attempts"
        " WHERE bag = ? AND ended_us IS NOT NULL ORDER BY attempt DESC LIMIT ?",
        (bag, MOST_PAST),
    )
    found = [msgspec.convert(list(row), PastRow) for row in rows.fetchall()]
    return sorted(found, key=lambda one: one.ended_us)


def _rows(link: Link, query: str, kind: type[Any]) -> list[Any]:
    decoder = msgspec.json.Decoder(kind)
    return [decoder.decode(row[0]) for row in link.execute(query)]


def _next(link: Link, newest: str, kind: str) -> int:
    """Not one that was used by what is removed."""
    return max(int(link.execute(newest).fetchone()[0]), floor(link, kind)) + 1


def floor(link: Link, kind: str) -> int:
    found = link.execute("SELECT value FROM meta WHERE key = ?", (kind,)).fetchone()
    return int(found[0]) if found else 0
