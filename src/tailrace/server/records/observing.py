"""What was seen of the attempts of a bag: the little that estimates are made from, page by page."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Pool
from tailrace.server.records import measuring, reading
from tailrace.server.records.outages import Span, outages
from tailrace.server.tables.link import Link, stream

PAGE = 5000  # attempts: about 300 KiB
SENT = """
SELECT a.attempt, a.host, a.sent_us, a.timeout_us, a.ended_us, a.outcome, a.run_us,
       EXISTS (SELECT 1 FROM results r
               WHERE r.bag = a.bag AND r.idx = a.idx AND r.outcome <> 'succeeded')
FROM attempts a WHERE a.bag = ? AND a.attempt > ? ORDER BY a.attempt
"""


class Seen(msgspec.Struct, frozen=True, gc=False):
    """One attempt. What did not end has no outcome; a task that `failed` did so for good."""

    attempt: int
    pool: str
    sent_us: int
    timeout_us: int | None
    ended_us: int | None
    outcome: Outcome | None
    run_us: int | None
    failed: bool


class Observed(msgspec.Struct, frozen=True):
    """`stood` still: paused by its owner or a brake, or because no server ran. It and the pools,
    with the terms they had last, are told with the first page."""

    tail_us: int | None
    attempts: list[Seen]
    pools: list[Pool] = []
    stood: list[Span] = []


def observed(link: Link, bag: int, now_us: int | None = None) -> Observed:
    """All of them, and when there was no server."""
    found = _first(link, bag, now_us)
    stood = [*found.stood, *outages(link)]
    return msgspec.structs.replace(found, attempts=list(_seen(link, bag, 0)), stood=stood)


def page(link: Link, bag: int, after: int, now_us: int) -> Observed:
    """Behind one attempt."""
    head = Observed(reading.bag_row(link, bag).tail_us, []) if after else _first(link, bag, now_us)
    some = list(_seen(link, bag, after, PAGE))
    return msgspec.structs.replace(head, attempts=some)


def _first(link: Link, bag: int, now_us: int | None) -> Observed:
    """Terms of pools that nobody described are the usual ones."""
    until_us = reading.last_moment(link, bag) if now_us is None else now_us
    known = measuring.terms_of_pools(link)
    query = "SELECT DISTINCT host FROM attempts WHERE bag = ?"
    pool_of = _pool_of(link)
    used = dict.fromkeys(pool_of.get(host, "") for (host,) in link.execute(query, (bag,)))
    pools = [known.get(name, Pool(name)) for name in sorted(used)]
    stood = list(measuring.pauses(link, bag, until_us))
    return Observed(reading.bag_row(link, bag).tail_us, [], pools, stood)


def _seen(link: Link, bag: int, after: int, most: int | None = None) -> Iterator[Seen]:
    pool_of = _pool_of(link)
    limit = "" if most is None else f"LIMIT {most}"
    for row in stream(link, SENT + limit, (bag, after)):
        number, host, sent, timeout, ended, outcome, run, failed = row
        how = Outcome(outcome) if outcome else None
        pool = pool_of.get(host, "")
        yield Seen(number, pool, sent, timeout, ended, how, run, bool(failed))


def _pool_of(link: Link) -> dict[str, str]:
    return {host.row.host: host.row.pool for host in reading.hosts(link)}
