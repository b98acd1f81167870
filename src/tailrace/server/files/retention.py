"""How long bags are kept after their end, and which of them are past it."""

from __future__ import annotations

import msgspec

from tailrace.scheduler.rows import BagPhase, BagRow
from tailrace.server.tables.link import Link

OVER = (BagPhase.FINISHED, BagPhase.CANCELLED)
_bag_row = msgspec.json.Decoder(BagRow).decode


class Retention(msgspec.Struct, frozen=True):
    keep_us: int | None = None  # None: for ever
    keep_failed_us: int | None = None  # where tasks have failed; None: no longer than the others


class Going(msgspec.Struct, frozen=True):
    """A bag whose time is over."""

    bag: int
    name: str
    count: int
    owner: str
    ended_us: int


def past(link: Link, retention: Retention, now_us: int) -> list[Going]:
    """All that may go: nothing of them is under way, and no later bag has results of theirs."""
    if retention.keep_us is None:
        return []
    found = []
    for row, owner, basis in link.execute("SELECT row, owner, basis FROM bags ORDER BY bag"):
        bag = _bag_row(row)
        if bag.phase not in OVER or bag.ended_us is None:
            continue
        if bag.ended_us < now_us - retention.keep_us:
            found.append(
                (Going(bag.bag, bag.terms.name, bag.terms.count, owner, bag.ended_us), basis)
            )
    return [one for one, basis in found if _may_go(link, one, basis, retention, now_us)]


def _may_go(link: Link, one: Going, basis: str, retention: Retention, now_us: int) -> bool:
    longer = retention.keep_failed_us
    if longer is not None and one.ended_us >= now_us - longer and _has(link, FAILED, one.bag):
        return False
    if _has(link, UNPUBLISHED, one.bag):
        return False
    return not (basis and _has(link, LENT, one.bag, basis))


FAILED = "SELECT 1 FROM results WHERE bag = ? AND outcome <> 'succeeded' LIMIT 1"
UNPUBLISHED = "SELECT 1 FROM unpublished JOIN attempts USING (attempt) WHERE bag = ? LIMIT 1"
# Only bags of the same basis take over results.
LENT = (
    "SELECT 1 FROM bags b JOIN results r ON r.bag = b.bag JOIN attempts a ON a.attempt = r.attempt"
    " WHERE a.bag = ? AND b.basis = ? AND b.bag > a.bag LIMIT 1"
)
# Results that a bag took over were made by attempts of others.
LENDERS = (
    "SELECT DISTINCT a.bag FROM results r JOIN attempts a ON a.attempt = r.attempt"
    " WHERE r.bag = ? AND a.bag <> r.bag"
)


def of_no_use(link: Link, bags: list[int]) -> list[int]:
    """Those of these bags whose results no other bag has taken over."""
    rows = (_bag_row(row) for (row,) in link.execute("SELECT row FROM bags").fetchall())
    takers = [row.bag for row in rows if row.taken and row.bag not in bags]
    lenders = {row[0] for taker in takers for row in link.execute(LENDERS, (taker,)).fetchall()}
    return [bag for bag in bags if bag not in lenders]


def _has(link: Link, query: str, *values: int | str) -> bool:
    return link.execute(query, values).fetchone() is not None
