"""What the tables tell: bags, results, attempts, the feed. Reading only, from any process."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.bag import Bag
from tailrace.bag.needs import THOUSANDTHS
from tailrace.bag.outcome import Outcome
from tailrace.errors import BadInput, StoreError
from tailrace.report.record import Result, Which
from tailrace.report.sparse import Sparse
from tailrace.scheduler.rows import BagRow, HostRow
from tailrace.server.protocol import WorkResult
from tailrace.server.records.bills import Shares, leases
from tailrace.server.tables import migrations, sqlite, storeurl
from tailrace.server.tables.link import Link, Rejected, Trouble, stream
from tailrace.server.tables.storeurl import shown
from tailrace.server.tables.whereabouts import holds_runs, store_of

_bag_row = msgspec.json.Decoder(BagRow).decode
_work_result = msgspec.json.Decoder(WorkResult).decode


class BagFacts(msgspec.Struct, frozen=True):
    bag: int
    name: str
    phase: str
    why: str
    count: int
    succeeded: int
    failed: int
    live: int
    submitted_us: int
    ended_us: int | None
    last_us: int = 0  # when anything last happened to it
    owner: str = ""  # a user's name; '': whoever owns the folder
    taken: int = 0  # tasks whose results came from earlier bags

    @property
    def done(self) -> int:
        return self.succeeded + self.failed


class FeedItem(msgspec.Struct, frozen=True):
    n: int
    at_us: int
    kind: str
    body: msgspec.Raw


class HostFacts(msgspec.Struct, frozen=True):
    row: HostRow
    about: dict[str, Any]
    first_seen_us: int
    last_seen_us: int


class OlderStore(StoreError):
    """Written by an earlier version: it must be brought up to date before it can be read."""


def open_store(folder: Path) -> Link:
    """For reading, beside a server or without one."""
    if not holds_runs(folder):
        raise BadInput(f"{folder}: there is no run here.", remedy="Start one with `tailrace run`.")
    place = store_of(folder)
    try:
        link, version = _open_url(place) if isinstance(place, str) else _open_file(place)
        migrations.refuse_newer(version, shown(place))
    except (sqlite3.Error, Trouble, Rejected) as error:
        raise damaged(folder, error) from error
    if version < migrations.newest():
        link.close()
        newest = migrations.newest()
        raise OlderStore(
            f"{shown(place)}: the store has version {version}, this tailrace reads {newest}.",
            remedy="`tailrace resume` brings it up to date; if a run begins just now, try again.",
        )
    return link


def _open_url(url: str) -> tuple[Link, int]:
    from tailrace.server.tables.postgres import PostgresLink

    link = PostgresLink(storeurl.read(url))
    return link, link.version()


def _open_file(path: Path) -> tuple[Link, int]:
    link = _open(path)
    return link, sqlite.version_of(link)


def _open(path: Path) -> sqlite3.Connection:
    """In a folder where we may not write, the file alone is read; it is whole when no server
    holds it."""
    address = path.absolute().as_uri()
    link = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None)
    try:
        link.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        if os.access(path.parent, os.W_OK):
            raise
        link = sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None)
        link.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return link


#: What comes of a file that is damaged, or of rows that are.
UNREADABLE = (sqlite3.DatabaseError, Rejected, msgspec.MsgspecError)


def damaged(folder: Path, error: Exception) -> StoreError:
    place = store_of(folder)
    if isinstance(place, str):
        remedy = "Is that server there, and does it let you in? Try the same address with psql."
        return StoreError(f"{error}\n  The store cannot be read.", remedy=remedy)
    return StoreError(
        f"{folder / 'store.db'}: cannot be read as a store: {error}.",
        remedy="If it is damaged, restore a copy (a `store.db.v*.bak` beside it is from an earlier "
        "version), or move the folder away and run again.",
    )


def bags(link: Link) -> list[BagFacts]:
    return [bag(link, number) for number, _ in owned(link)]


def owned(link: Link, by: str | None = None) -> list[tuple[int, str]]:
    """Numbers and owners of all bags, or of one user's."""
    if by is None:
        return link.execute("SELECT bag, owner FROM bags ORDER BY bag").fetchall()
    query = "SELECT bag, owner FROM bags WHERE owner = ? ORDER BY bag"
    return link.execute(query, (by,)).fetchall()


def bag(link: Link, number: int) -> BagFacts:
    found = link.execute("SELECT row, owner FROM bags WHERE bag = ?", (number,)).fetchone()
    if found is None:
        raise BadInput(f"there is no bag {number}", remedy="`tailrace status` lists them.")
    row = _bag_row(found[0])
    done, good = link.execute(
        "SELECT count(*), count(*) FILTER (WHERE outcome = 'succeeded') FROM results WHERE bag = ?",
        (number,),
    ).fetchone()
    query = "SELECT count(*) FROM live_attempts WHERE bag = ?"
    live = link.execute(query, (number,)).fetchone()[0]
    return BagFacts(
        number, row.terms.name, row.phase, row.why, row.terms.count, good, done - good, live,
        row.submitted_us, row.ended_us, last_moment(link, number), found[1], row.taken,
    )  # fmt: skip


def last_moment(link: Link, number: int) -> int:
    """When anything last happened to the bag: as the feed says, or an attempt that has not ended.
    Both are found at once, however long the bag is."""
    query = "SELECT max(sent_us) FROM live_attempts WHERE bag = ?"
    sent = link.execute(query, (number,)).fetchone()[0] or 0
    return max(bag_row(link, number).submitted_us, last_told(link, number), sent)


def last_told(link: Link, number: int) -> int:
    """When the feed last told something of the bag; 0: never."""
    query = "SELECT at_us FROM feed WHERE bag = ? ORDER BY n DESC LIMIT 1"
    found = link.execute(query, (number,)).fetchone()
    return int(found[0]) if found else 0


def owner(link: Link, number: int) -> str | None:
    """Whose bag it is; None: there is none of that number."""
    found = link.execute("SELECT owner FROM bags WHERE bag = ?", (number,)).fetchone()
    return None if found is None else str(found[0])


def has_bag(link: Link, number: int) -> bool:
    return link.execute("SELECT 1 FROM bags WHERE bag = ?", (number,)).fetchone() is not None


def bag_row(link: Link, number: int) -> BagRow:
    return _bag_row(link.execute("SELECT row FROM bags WHERE bag = ?", (number,)).fetchone()[0])


def ended_before(link: Link, moment_us: int) -> list[int]:
    """Bags that have ended, and before this."""
    found = link.execute("SELECT row FROM bags")
    rows = [msgspec.json.decode(row, type=BagRow) for (row,) in found]
    return [row.bag for row in rows if row.ended_us is not None and row.ended_us < moment_us]


def content(link: Link, number: int) -> Bag:
    spec = link.execute("SELECT spec FROM bags WHERE bag = ?", (number,)).fetchone()[0]
    return Bag.decode(bytes(spec), partial(_chunk, link, number), number)


def permutation(link: Link, number: int) -> bytes | None:
    query = "SELECT permutation FROM bags WHERE bag = ?"
    found = link.execute(query, (number,)).fetchone()[0]
    return None if found is None else bytes(found)


def _chunk(link: Link, number: int, k: int) -> bytes:
    query = "SELECT body FROM chunks WHERE bag = ? AND k = ?"
    return bytes(link.execute(query, (number, k)).fetchone()[0])


def feed(link: Link, number: int, after: int, most: int = 1000) -> list[FeedItem]:
    rows = link.execute(
        "SELECT n, at_us, kind, body FROM feed WHERE bag = ? AND n > ? ORDER BY n LIMIT ?",
        (number, after, most),
    )
    return [FeedItem(n, at, kind, msgspec.Raw(body)) for n, at, kind, body in rows]


def newest(link: Link, number: int) -> int:
    """The number of the feed's newest item of this bag."""
    query = "SELECT coalesce(max(n), 0) FROM feed WHERE bag = ?"
    return int(link.execute(query, (number,)).fetchone()[0])


def newest_of_all(link: Link) -> int:
    return int(link.execute("SELECT coalesce(max(n), 0) FROM feed").fetchone()[0])


def feed_of_all(link: Link, after: int, most: int = 1000) -> list[tuple[int, int, str, bytes]]:
    """Of all bags: number, bag, kind and body of each item."""
    query = "SELECT n, bag, kind, body FROM feed WHERE n > ? ORDER BY n LIMIT ?"
    return link.execute(query, (after, most)).fetchall()


REPORTS = (
    "SELECT r.idx, r.outcome, a.body FROM results r JOIN attempts a ON a.attempt = r.attempt"
    " WHERE r.bag = ? AND r.idx IN ({})"
)
ASKED_AT_ONCE = 500


def reports(link: Link, number: int, indices: list[int]) -> Iterator[tuple[int, str, bytes | None]]:
    """Of tasks that have a result: index, outcome, and what the worker reported."""
    for at in range(0, len(indices), ASKED_AT_ONCE):
        some = indices[at : at + ASKED_AT_ONCE]
        query = REPORTS.format(", ".join("?" * len(some)))
        yield from link.execute(query, (number, *some))


RESULTS = """
SELECT r.idx, r.outcome, a.host, h.row, a.sent_us, a.ended_us, a.run_us, a.body,
       (SELECT count(*) FROM attempts b WHERE b.bag = r.bag AND b.idx = r.idx), a.bag,
       EXISTS (SELECT 1 FROM unpublished u WHERE u.attempt = r.attempt)
FROM results r JOIN attempts a ON a.attempt = r.attempt LEFT JOIN hosts h ON h.host = a.host
WHERE r.bag = ?
"""


AMONG = {Which.ALL: "", Which.DONE: "", Which.FAILED: " AND r.outcome <> 'succeeded'"}


def results(
    link: Link, number: int, first: int = 0, most: int | None = None, which: Which = Which.ALL
) -> Iterable[Result]:
    """From task `first` on, `most` of them, in the order of their numbers. Of all tasks, those
    without a result have no outcome; else only what has a result is read."""
    of = content(link, number)
    if which is not Which.ALL:
        limit = "" if most is None else f" LIMIT {most}"
        more = f" AND r.idx >= ?{AMONG[which]} ORDER BY r.idx{limit}"
        return _results(link, of, more, (first,))
    end = of.count if most is None else min(first + most, of.count)
    done = _results(link, of, " AND r.idx >= ? AND r.idx < ? ORDER BY r.idx", (first, end))
    return Sparse(
        done, range(first, end), lambda index: Result(task=index, params=of.params(index))
    )


def last_results(link: Link, number: int, most: int, which: Which = Which.ALL) -> list[Result]:
    """The last so many, found from the end."""
    of = content(link, number)
    if which is Which.ALL:
        return list(results(link, number, max(0, of.count - most)))
    more = f"{AMONG[which]} ORDER BY r.idx DESC LIMIT {most}"
    return list(_results(link, of, more, ()))[::-1]


def _results(link: Link, of: Bag, more: str, values: tuple[int, ...]) -> Iterator[Result]:
    pools: dict[bytes, str] = {}
    shares = Shares(link, of.number)
    for row in stream(link, RESULTS + more, (of.number, *values)):
        yield _result(of, row, pools, shares)


def _result(of: Bag, row: tuple[Any, ...], pools: dict[bytes, str], shares: Shares) -> Result:
    index, outcome, host, host_row, sent, ended, run, body, attempts, made_in, waits = row
    if host_row is not None and host_row not in pools:
        pools[host_row] = msgspec.json.decode(host_row, type=HostRow).pool
    told = _work_result(body) if body else None
    return Result(
        task=index,
        params=of.params(index),
        outcome=Outcome(outcome),
        exit=told.exit if told else None,
        value=msgspec.json.decode(told.value) if told else None,
        stdout=told.stdout if told else "",
        stderr=told.stderr if told else "",
        outputs=_outputs(of, index, told, waits) if told and told.outputs else [],
        attempts=attempts,
        host=host,
        pool=pools.get(host_row, ""),
        run_s=None if run is None else run / 1e6,
        turnaround_s=None if ended is None else (ended - sent) / 1e6,
        cost=shares.of_task(index),
        from_bag=None if made_in == of.number else made_in,
    )


def _outputs(of: Bag, index: int, told: WorkResult, waits: bool) -> list[dict[str, Any]]:
    """Where they were published; or, as long as they wait for that, where the worker left them."""
    written = () if waits else of.outputs(index, [file.name for file in told.outputs])
    targets = {output.name: output.target for output in written}
    return [
        {"name": file.name, "path": targets.get(file.name, file.path), "size": file.size}
        | ({"hash": file.hash} if file.hash else {})
        for file in told.outputs
    ]


def failed(link: Link, number: int) -> Iterator[tuple[int, Outcome, WorkResult | None]]:
    """Tasks that failed for good: number, outcome, and what the worker said of the last attempt."""
    rows = link.execute(
        "SELECT r.idx, r.outcome, a.body FROM results r JOIN attempts a ON a.attempt = r.attempt"
        " WHERE r.bag = ? AND r.outcome <> 'succeeded' ORDER BY r.idx",
        (number,),
    )
    for index, outcome, body in rows:
        yield index, Outcome(outcome), _work_result(body) if body else None


def hosts(link: Link) -> list[HostFacts]:
    query = "SELECT row, about, first_seen_us, last_seen_us FROM hosts ORDER BY first_seen_us"
    return [
        HostFacts(msgspec.json.decode(row, type=HostRow), msgspec.json.decode(about), first, last)
        for row, about, first, last in link.execute(query)
    ]


def cores_of(link: Link, number: int, pool: str) -> float | None:
    """That the newest machine of a pool gave to tasks of the bag; None: all it had, or none yet."""
    named = [lease.host for lease in leases(link, number) if lease.pool == pool and lease.host]
    query = "SELECT row, about FROM hosts WHERE host = ?"
    found = link.execute(query, (named[-1],)).fetchone() if named else None
    if found is None:
        return None
    given = msgspec.json.decode(found[0], type=HostRow).capacity.get("cores", 0) / THOUSANDTHS
    return None if given in (0, msgspec.json.decode(found[1]).get("cores")) else given


def unpublished(link: Link, number: int) -> list[int]:
    """Tasks that succeeded and whose outputs are not at their targets yet."""
    query = "SELECT idx FROM unpublished JOIN attempts USING (attempt) WHERE bag = ? ORDER BY idx"
    return [row[0] for row in link.execute(query, (number,))]


def journal(link: Link) -> Iterator[bytes]:
    for row in stream(link, "SELECT body FROM journal ORDER BY n"):
        yield row[0]
