"""The store: one writer, each cycle one transaction, which is durable before anybody hears of it.

It is a file (`sqlite.py`) or a schema of a PostgreSQL (`postgres.py`), by what it is given.
`commit` and `write` are the doors for writing; they assert the epoch, so that a server whose store
was taken over by another cannot write any more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from tailrace.errors import StoreError
from tailrace.pools.terms import Pool
from tailrace.scheduler.rows import Restored
from tailrace.server.batch import Batch, MoreTasks, New, NewBag
from tailrace.server.tables import migrations, sqlite
from tailrace.server.tables.link import Rejected, Trouble, Work, WritingLink
from tailrace.server.tables.restored import floor, restored
from tailrace.server.tables.statements import (
    CLEAR,
    COME,
    COMING,
    FORGET,
    MORE_TASKS,
    NEW_BAG,
    NEW_CHUNK,
    NEW_KEY,
    STATEMENTS,
    STRAYS,
)
from tailrace.server.tables.storeurl import Place, is_url, read, shown

SLICE = 2000  # rows that are written beside the cycle at once
SLICE_BYTES = 256 << 10  # of chunks


class Store:
    def __init__(self, place: Place, *, synchronous: str = "FULL") -> None:
        self.path = shown(place)
        self.link = _opened(place, synchronous)
        try:
            migrations.migrate(self.link, self.path)
        except (sqlite3.Error, Rejected, Trouble) as error:
            self.link.close()
            raise _unusable(place, error) from error
        except BaseException:
            self.link.close()
            raise
        self.epoch = 0
        self.first_life = False  # nobody has sent anything from it before
        self._recovering = False

    def begin_epoch(self) -> int:
        """From now on only this server may commit."""
        self.epoch = self.link.take()
        self.first_life = self.epoch == 1
        return self.epoch

    def recover(self) -> None:
        """After trouble: when this returns, nothing written before can still arrive, and what the
        tables say holds, also of a commit of which nobody knows whether it took place."""
        self._recovering = True
        self.epoch = self.link.retake(self.epoch)
        self._recovering = False
        self.first_life = False  # a database may have lost what it had promised to keep

    def close(self) -> None:
        self.link.close()

    def commit(self, batch: Batch) -> None:
        """All of it or nothing; raises on any failure, with nothing written."""
        self._commit(partial(self._write, batch))

    def write(self, statement: str, *values: Any) -> None:
        """One row beside the cycle; under the same assertion."""
        self._commit(partial(self.link.write, [(statement, [values])]))

    def _commit(self, write: Callable[[], None]) -> None:
        if self._recovering:
            raise Trouble(f"{self.path}: not before the epoch is known again")
        held = self.link.begin()
        try:
            self._assert_ours(held)
            write()
            self.link.commit()
        except BaseException:
            self.link.roll_back()
            raise

    def check(self) -> None:
        """Raises when another has taken over, or it cannot be asked: a server that has nothing to
        write must hear of it, too."""
        self._assert_ours(self.link.held())

    def _assert_ours(self, held: int) -> None:
        if held != self.epoch:
            raise StoreError(f"{self.path}: another server has taken over the store.")

    def _write(self, batch: Batch) -> None:
        for new in batch.new_bags:
            self.link.write(_rows_of(new))
        named = ((statement, getattr(batch, name)) for name, statement in STATEMENTS.items())
        self.link.write([(statement, rows) for statement, rows in named if rows])
        if batch.forgotten:
            self.link.write([(statement, batch.forgotten) for statement in FORGET])

    def lay(
        self, bag: int, results: Iterable[tuple[int, int]], chunks: Iterable[bytes] = ()
    ) -> Iterator[None]:
        """Task and attempt of results that a bag takes over, and its chunks, laid down before it is
        there, a slice between two yields. If its commit never comes, they are cleared away."""
        number: Work = [(COMING, [(bag,)]), (STATEMENTS["floors"], [("last_bag", bag)])]
        self._commit(partial(self.link.write, number))
        rows = ((bag, index, attempt, "succeeded") for index, attempt in results)
        while some := list(islice(rows, SLICE)):
            yield
            self._commit(partial(self.link.write, [(STATEMENTS["settled"], some)]))
        yield from self._lay_chunks(bag, 0, chunks)

    def lay_more(self, more: MoreTasks) -> Iterator[None]:
        """The same of tasks that are added. If their commit never comes, nobody reads what lies
        behind the chunks of the bag, and who adds to it next clears it away."""
        strays: Work = [(STRAYS, [(more.bag, more.first_chunk)])]
        self._commit(partial(self.link.write, strays))
        yield from self._lay_chunks(more.bag, more.first_chunk, more.chunks)

    def _lay_chunks(self, bag: int, first: int, chunks: Iterable[bytes]) -> Iterator[None]:
        some: list[tuple[int, int, bytes]] = []
        size = 0
        for k, chunk in enumerate(chunks, first):
            some.append((bag, k, chunk))
            size += len(chunk)
            if size >= SLICE_BYTES:
                yield
                self._commit(partial(self.link.write, [(NEW_CHUNK, some)]))
                some, size = [], 0
        if some:
            yield
            self._commit(partial(self.link.write, [(NEW_CHUNK, some)]))

    def leaving(self) -> list[int]:
        """Bags that are forgotten, and of which something is left."""
        return [row[0] for row in self.link.execute("SELECT bag FROM leaving ORDER BY bag")]

    def clear(self, bag: int, most: int) -> bool:
        """Remove some rows of a bag that is leaving; is there more?"""
        for table, statement in CLEAR.items():
            query = f"SELECT 1 FROM {table} WHERE bag = ? LIMIT 1"
            if self.link.execute(query, (bag,)).fetchone() is not None:
                self.write(statement, bag, bag, most)
                return True
        self.write("DELETE FROM leaving WHERE bag = ?", bag)
        return False

    def next_bag(self) -> int:
        newest = int(self._one("SELECT coalesce(max(bag), 0) FROM bags"))
        return max(newest, floor(self.link, "last_bag")) + 1

    def attempt(self, number: int) -> tuple[int, int, str] | None:
        """Bag, index and host of an attempt sent at some time."""
        found = self.link.execute(
            "SELECT bag, idx, host FROM attempts WHERE attempt = ?", (number,)
        ).fetchone()
        return found if found is None else (found[0], found[1], found[2])

    def has_succeeded(self, number: int) -> bool:
        query = "SELECT count(*) FROM attempts WHERE attempt = ? AND outcome = 'succeeded'"
        return bool(self._one(query, (number,)))

    def has_result(self, bag: int, index: int) -> bool:
        query = "SELECT count(*) FROM results WHERE bag = ? AND idx = ?"
        return bool(self._one(query, (bag, index)))

    def report(self, number: int) -> tuple[int, int, bytes]:
        """Bag, index and what the worker reported of an attempt."""
        query = "SELECT bag, idx, body FROM attempts WHERE attempt = ?"
        bag, index, body = self.link.execute(query, (number,)).fetchone()
        return bag, index, body

    def successes(self, bag: int) -> Iterator[tuple[int, bytes]]:
        """The tasks of a bag that succeeded, and what their workers reported."""
        query = (
            "SELECT r.idx, a.body FROM results r JOIN attempts a ON a.attempt = r.attempt"
            " WHERE r.bag = ? AND r.outcome = 'succeeded' ORDER BY r.idx"
        )
        return ((index, bytes(body)) for index, body in self.link.execute(query, (bag,)))

    def spec(self, bag: int) -> bytes:
        return bytes(self._one("SELECT spec FROM bags WHERE bag = ?", (bag,)))

    def owner(self, bag: int) -> str:
        """A user's name; '': whoever owns the folder."""
        return str(self._one("SELECT owner FROM bags WHERE bag = ?", (bag,)))

    def chunk(self, bag: int, k: int) -> bytes:
        return bytes(self._one("SELECT body FROM chunks WHERE bag = ? AND k = ?", (bag, k)))

    def sessions(self) -> dict[str, tuple[int, int, bytes, int, bytes | None]]:
        """Session, call, facts, first sight and hash of the key of each host."""
        query = "SELECT host, session, seq, about, first_seen_us, key_hash FROM hosts"
        return {
            row[0]: (row[1], row[2], row[3], row[4], None if row[5] is None else bytes(row[5]))
            for row in self.link.execute(query)
        }

    def of_no_use(self, attempt: int) -> bool:
        """Its task has a result, and its outputs are not waiting to be published."""
        query = (
            "SELECT count(*) FROM attempts a JOIN results r ON r.bag = a.bag AND r.idx = a.idx"
            " WHERE a.attempt = ? AND NOT EXISTS"
            " (SELECT 1 FROM unpublished u WHERE u.attempt = a.attempt)"
        )
        return bool(self._one(query, (attempt,)))

    def unpublished(self) -> list[int]:
        return [row[0] for row in self.link.execute("SELECT attempt FROM unpublished")]

    def moving(self) -> list[tuple[int, int]]:
        """The same, each with its bag before it."""
        query = "SELECT bag, attempt FROM unpublished JOIN attempts USING (attempt)"
        return [(bag, attempt) for bag, attempt in self.link.execute(query)]

    def restored(self) -> Restored:
        return restored(self.link)

    def remember_pools(self, pools: Iterable[Pool], now: int) -> None:
        """The terms leases are taken under from now on; bills can be made without a server."""
        query = "SELECT row FROM pools WHERE name = ? ORDER BY since_us DESC LIMIT 1"
        for pool in pools:
            row, before = msgspec.json.encode(pool), self.link.execute(query, (pool.name,))
            if before.fetchone() != (row,):
                self.write("INSERT INTO pools VALUES (?, ?, ?)", pool.name, now, row)

    def _one(self, query: str, values: Iterable[Any] = ()) -> Any:
        return self.link.execute(query, tuple(values)).fetchone()[0]


def _opened(place: Place, synchronous: str) -> WritingLink:
    try:
        if isinstance(place, str) and is_url(place):
            from tailrace.server.tables.postgres import Postgres

            return Postgres(read(place))
        return sqlite.open_for_writing(place, synchronous)
    except (sqlite3.Error, Rejected, Trouble) as error:
        raise _unusable(place, error) from error


def _unusable(place: Place, error: Exception) -> StoreError:
    if is_url(place):
        remedy = "Is that server there, and does it let you in? Try the same address with psql."
        return StoreError(f"{error}\n  It cannot be opened as a store.", remedy=remedy)
    return StoreError(
        f"{place}: cannot be opened as a store: {error}.",
        remedy="If the disk is full, free some; if the file is damaged, restore a copy.",
    )


def _rows_of(new: New) -> Work:
    return _more_tasks(new) if isinstance(new, MoreTasks) else _new_bag(new)


def _more_tasks(new: MoreTasks) -> Work:
    rows: Work = [(MORE_TASKS, [(new.spec, new.permutation, new.bag)])]
    if new.laid:
        return rows
    chunks = [(new.bag, k, chunk) for k, chunk in enumerate(new.chunks, new.first_chunk)]
    return [*rows, (STRAYS, [(new.bag, new.first_chunk)]), (NEW_CHUNK, chunks)]


def _new_bag(new: NewBag) -> Work:
    programs = msgspec.json.encode(new.programs).decode()
    bag = (new.bag, new.name, b"", new.spec, new.permutation, new.owner, new.basis, programs)
    chunks = ((new.bag, k, chunk) for k, chunk in enumerate(new.chunks))
    taken = ((new.bag, index, attempt, "succeeded") for index, attempt in new.taken)
    keys = [] if new.key is None else [(new.key.who, new.key.key, new.key.hash, new.bag)]
    settled, come = STATEMENTS["settled"], [(new.bag,)] if new.laid else []
    return [
        (NEW_BAG, [bag]), (NEW_CHUNK, chunks), (NEW_KEY, keys), (settled, taken), (COME, come),
    ]  # fmt: skip
