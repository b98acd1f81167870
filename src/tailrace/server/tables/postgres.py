"""The link to PostgreSQL: one connection that reads and writes, one that holds the store.

A connection that was cut is made anew for a question. Nothing is written through it before
`retake`: that makes sure of the lock, and raises the epoch. To raise it is to wait for whatever the
old connection had under way, which holds the epoch's row until it is committed or gone; and what
arrives later finds an epoch that is not its own. So the tables that are read afterwards are final,
also for a commit whose answer was lost.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from tailrace.errors import StoreError
from tailrace.server.tables.bulk import at_once
from tailrace.server.tables.link import Row, Rows, Trouble, Work
from tailrace.server.tables.ownership import Ownership
from tailrace.server.tables.pgconnect import HURRIED_S, PATIENT_S, connect, driver, told
from tailrace.server.tables.storeurl import StoreUrl

if TYPE_CHECKING:
    from tailrace.server.tables.pgdriver import Connection

EPOCH = "SELECT value FROM meta WHERE key = 'epoch' FOR UPDATE"
PAGE = 1000  # rows of a stream in memory
PAUSE_S = 1.0  # between two questions that try to connect
FAR = 1_000_000  # epochs of one server are far from those of another, so that it knows its own


class PostgresLink:
    """For reading."""

    def __init__(self, url: StoreUrl, *, readonly: bool = True) -> None:
        self.url = url
        self._readonly = readonly
        self._errors = driver(url).Error
        self._failed: tuple[float, Trouble] | None = None
        self._hurried = False
        self._rests = False
        self._streams = count(1)
        self._link = self._connected(PATIENT_S)

    def _connected(self, patience_s: int = HURRIED_S) -> Connection:
        name = f"tailrace {self.url.schema}"
        link = connect(self.url, name, readonly=self._readonly, patience_s=patience_s)
        link.hurried = self._hurried
        return link

    def _open(self) -> Connection:
        if self._link.closed:
            if self._rests:
                raise Trouble(f"{self.url}: the connection was lost")
            self._link = self._connected_again()
        return self._link

    def _connected_again(self) -> Connection:
        """Who asks often does not wait each time for an answer that does not come."""
        if self._failed is not None and time.monotonic() < self._failed[0] + PAUSE_S:
            raise self._failed[1]
        try:
            link = self._connected()
        except Trouble as trouble:
            self._failed = (time.monotonic(), trouble)
            raise
        self._failed = None
        return link

    def execute(self, query: str, values: Row = (), /) -> Rows:
        try:
            return self._ask(query, values)
        except Trouble:
            if self._rests or not (self._link.closed and query.startswith("SELECT")):
                raise
        return self._ask(query, values)  # of a question nothing can be in doubt

    def _ask(self, query: str, values: Row) -> Rows:
        try:
            return self._open().execute(in_words_of_psycopg(query), values or None)
        except self._errors as error:
            self._rests = self._rests or self._is_silent(error)
            raise told(self.url, error) from error

    def _is_silent(self, error: Exception) -> bool:
        """Who writes finds out on another thread when it answers again; who reads, by asking."""
        return False

    def stream(self, query: str, values: Row = (), /) -> Iterator[Any]:
        """Kept by the server between the pages: no transaction stays open meanwhile."""
        name = f"stream_{next(self._streams)}"
        try:
            with self._open().cursor(name, withhold=True) as cursor:
                cursor.itersize = PAGE
                yield from cursor.execute(in_words_of_psycopg(query), values or None)
        except self._errors as error:
            raise told(self.url, error) from error

    def version(self) -> int:
        if self.execute("SELECT to_regclass('meta')").fetchone()[0] is None:
            return 0
        found = self.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if found is None:
            raise StoreError(
                f"{self.url}: the schema {self.url.schema} holds tables, but no store.",
                remedy="Name another: ?schema=NAME; it is made when it is not there.",
            )
        return int(found[0])

    def close(self) -> None:
        self._link.close()


class Postgres(PostgresLink):
    """For writing."""

    dialect = "postgres"

    def __init__(self, url: StoreUrl) -> None:
        super().__init__(url, readonly=False)
        self._ownership = Ownership(url)
        try:
            self._make_schema()
            self._ownership.take()
        except BaseException:
            self.close()
            raise
        self._mine: dict[int, None] = {}  # epochs that may be ours: of some nobody heard
        self._ready: Connection | None = None  # on which the epoch was taken

    def _make_schema(self) -> None:
        """Only where it is not there: who may use one that is may perhaps make none."""
        schema = self.url.schema
        if self.execute("SELECT to_regnamespace(?)", (schema,)).fetchone()[0] is None:
            self.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")

    def _is_silent(self, error: Exception) -> bool:
        from tailrace.server.tables.pgdriver import Silence

        return isinstance(error, Silence)

    def hurry(self, hurried: bool) -> None:
        self._hurried = self._link.hurried = hurried

    def rest(self) -> None:
        self._rests = True

    # one transaction

    def held(self) -> int:
        self._look()
        return int(_first(self.execute(EPOCH.removesuffix(" FOR UPDATE")).fetchone()))

    def _look(self) -> None:
        if self._link is not self._ready or self._link.closed:
            raise Trouble(f"{self.url}: the connection was lost")
        self._ownership.look()

    def begin(self) -> int:
        self._look()
        try:
            with self._link.pipeline():
                self._link.execute("BEGIN")
                held = self._link.execute(EPOCH)
            return int(_first(held.fetchone()))
        except self._errors as error:
            self.roll_back()
            raise told(self.url, error) from error

    def write(self, work: Work) -> None:
        try:
            with self._link.pipeline(), self._link.cursor() as cursor:
                for statement, rows in work:
                    statement, rows = at_once(statement, rows)
                    cursor.executemany(in_words_of_psycopg(statement), rows)
        except self._errors as error:
            raise told(self.url, error) from error

    def commit(self) -> None:
        try:
            done = self._link.execute("COMMIT").statusmessage
        except self._errors as error:
            raise told(self.url, error) from error
        if done != "COMMIT":  # of a transaction that had failed, it says ROLLBACK and no error
            raise Trouble(f"{self.url}: the transaction was rolled back")

    def roll_back(self) -> None:
        """A connection that cannot even do this is closed, and its transaction ends with it."""
        try:
            self._link.execute("ROLLBACK")
        except self._errors:
            self._link.close()

    # whose it is

    def take(self) -> int:
        return self._raise_epoch(self._link, theirs=True)

    def retake(self, epoch: int) -> int:
        self._ownership.retake()
        self._link.close()
        fresh = self._connected()
        fresh.hurried = False
        epoch = self._raise_epoch(fresh, theirs=False)
        fresh.hurried = self._hurried
        self._link, self._rests = fresh, False
        return epoch

    def _raise_epoch(self, link: Connection, *, theirs: bool) -> int:
        try:
            with link.transaction():
                found = int(_first(link.execute(EPOCH).fetchone()))
                if not theirs and found not in self._mine:
                    raise StoreError(f"{self.url}: another server has taken over the store.")
                epoch = found + 1 + (secrets.randbelow(FAR) if found else 0)
                self._mine[epoch] = None
                link.execute("UPDATE meta SET value = %s WHERE key = 'epoch'", (epoch,))
        except self._errors as error:
            raise told(self.url, error) from error
        self._ready = link
        return epoch

    def announce(self, address: str) -> None:
        self._ownership.announce(address)

    # migrations

    def keep_copy(self, version: int) -> None:
        """Copies of a database are its administrator's affair."""

    def migrate(self, number: int, text: str) -> None:
        try:
            with self._link.transaction():
                self._link.execute(text.encode())
                self._link.execute("UPDATE meta SET value = %s WHERE key = 'version'", (number,))
        except self._errors as error:
            raise told(self.url, error) from error

    def close(self) -> None:
        super().close()
        self._ownership.free()


@cache
def in_words_of_psycopg(query: str) -> bytes:
    return query.replace("%", "%%").replace("?", "%s").encode()


def _first(row: tuple[Any, ...] | None) -> Any:
    assert row is not None
    return row[0]
