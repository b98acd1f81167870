"""What was seen of the attempts of a bag: the little that estimates are made from, page by page."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Terms
from tailrace.pools.terms import Pool
from tailrace.server.records import bills, measuring, reading
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
    with the terms they had last, and what follows them, are told with the first page."""

    tail_us: int | None
    attempts: list[Seen]
    pools: list[Pool] = []
    stood: list[Span] = []
    startup_us: dict[str, int] = {}  # of leases that came up, on average, by pool
    ends_losers: bool = True  # what still runs for a task with a result is ended


def observed(link: Link, bag: int, now_us: int | None = None) -> Observed:
    """All of them at once."""
    return msgspec.structs.replace(_first(link, bag, now_us), attempts=list(_seen(link, bag, 0)))


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
    row = reading.bag_row(link, bag)
    may_use = [name for name in row.terms.pools or known if name in known]
    pools = [known.get(name, Pool(name)) for name in sorted({*used, *may_use})]
    stood = [*measuring.pauses(link, bag, until_us), *outages(link)]
    return Observed(row.tail_us, [], pools, stood, _startups_us(link, bag), _ends_losers(row.terms))


def _startups_us(link: Link, bag: int) -> dict[str, int]:
    found: dict[str, list[int]] = {}
    for row in bills.leases(link, bag):
        if row.up_us is not None:
            found.setdefault(row.pool, []).append(row.up_us - row.wanted_us)
    return {name: sum(times) // len(times) for name, times in found.items()}


def _ends_losers(terms: Terms) -> bool:
    if terms.losers_run_on or terms.replication is None:
        return not terms.losers_run_on
    return terms.replication.options.get("cancel") is not False


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
