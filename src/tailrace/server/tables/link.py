"""A link to the tables, of whichever database: what the store and its readers ask of it.

The SQL is written so that both databases take it. Where they differ, the link to each does it in
its own way: `sqlite.py`, `postgres.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from tailrace.errors import StoreError

Row = Sequence[Any]
Work = Iterable[tuple[str, Iterable[Row]]]  # statements, each with the rows it is done for


class Trouble(StoreError):
    """Not now: the server is away, its disk full, the connection cut. It may go later."""


class Rejected(Exception):
    """The database says no, and would again: a fault of the statement, or of its rows."""


#: What is no fault of ours, and may go later.
TROUBLES = (sqlite3.OperationalError, Trouble)


class Rows(Protocol):
    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Link(Protocol):
    """For reading: SQLite's own connection will do."""

    def execute(self, query: str, values: Row = (), /) -> Rows: ...

    def close(self) -> None: ...


@runtime_checkable
class Streaming(Link, Protocol):
    """One whose `execute` would fetch everything at once."""

    def stream(self, query: str, values: Row = (), /) -> Iterator[Any]: ...


def stream(link: Link, query: str, values: Row = ()) -> Iterator[Any]:
    """Rows that may be millions: a few in memory at a time."""
    if isinstance(link, Streaming):
        return link.stream(query, values)
    return iter(link.execute(query, values))


class WritingLink(Link, Protocol):
    """What the store writes through."""

    dialect: str  # the folder of its migrations in `sql`

    def hurry(self, hurried: bool) -> None:
        """Whether others wait while we wait for an answer: then not for long."""

    def rest(self) -> None:
        """Trouble was met: until `retake` no question is worth a new connection."""

    def held(self) -> int:
        """The epoch as it stands."""

    def begin(self) -> int:
        """A transaction that writes; the epoch, which nobody can change before its end."""

    def write(self, work: Work) -> None: ...

    def commit(self) -> None:
        """Durable when it returns. When it fails, who knows whether it took place."""

    def roll_back(self) -> None: ...

    def take(self) -> int:
        """A new epoch: from now on only who knows it may commit."""

    def retake(self, epoch: int) -> int:
        """After trouble: the epoch to go on with, when nothing of before can be written any more.
        Raises StoreError if another server has taken over."""

    def announce(self, address: str) -> None:
        """Where the owner can be reached, for a second one that would own the store."""

    def version(self) -> int:
        """Of the tables; 0: there are none."""

    def keep_copy(self, version: int) -> None:
        """Of the store as it is, where that is the store's own affair."""

    def migrate(self, number: int, text: str) -> None:
        """One step and its number, in one transaction."""
