"""The link to SQLite: its own connection, with what the store asks for beside it.

WAL with synchronous=FULL: what was committed survives the death of the process and of the machine.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from itertools import chain
from pathlib import Path

from tailrace.server.tables.link import Row, Work

TOGETHER = 20  # rows in one insertion: a fifth cheaper than one at a time
EPOCH = "SELECT value FROM meta WHERE key = 'epoch'"


class Sqlite(sqlite3.Connection):
    """Who owns the store is settled by the lock of its folder (`lock.py`)."""

    dialect = ""

    def hurry(self, hurried: bool) -> None:
        """A disk answers, or says that it cannot."""

    def rest(self) -> None:
        """What a file that cannot be written holds can still be read."""

    def held(self) -> int:
        return int(self.execute(EPOCH).fetchone()[0])

    def begin(self) -> int:
        self.execute("BEGIN IMMEDIATE")
        return self.held()

    def write(self, work: Work) -> None:
        for statement, rows in work:
            if isinstance(rows, list) and len(rows) >= TOGETHER:
                rows = self._write_together(statement, rows)
            self.executemany(statement, rows)

    def _write_together(self, statement: str, rows: list[Row]) -> list[Row]:
        """Many rows in each insertion; those that are left over come back."""
        several = _of_several(statement)
        whole = len(rows) // TOGETHER * TOGETHER if several else 0
        for first in range(0, whole, TOGETHER):
            self.execute(several, [*chain.from_iterable(rows[first : first + TOGETHER])])
        return rows[whole:]

    def commit(self) -> None:
        self.execute("COMMIT")

    def roll_back(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def take(self) -> int:
        self.execute("UPDATE meta SET value = value + 1 WHERE key = 'epoch'")
        return self.held()

    def retake(self, epoch: int) -> int:
        return epoch

    def announce(self, address: str) -> None:
        """It stands in the folder."""

    def version(self) -> int:
        return version_of(self)

    def keep_copy(self, version: int) -> None:
        path = Path(self.execute("PRAGMA database_list").fetchone()[2])
        _copy(self, path.with_name(f"{path.name}.v{version}.bak"))

    def migrate(self, number: int, text: str) -> None:
        self.executescript(f"BEGIN;\n{text}\nPRAGMA user_version = {number};\nCOMMIT;")


@lru_cache
def _of_several(statement: str) -> str:
    """The insertion of TOGETHER rows; '' of a statement that does anything else."""
    head, verb, row = statement.rpartition(" VALUES ")
    if not verb or row.strip("(?, )"):
        return ""
    return f"{head}{verb}{', '.join([row] * TOGETHER)}"


def open_for_writing(path: Path | str, synchronous: str) -> Sqlite:
    link = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Sqlite)
    link.execute("PRAGMA journal_mode = WAL")
    link.execute(f"PRAGMA synchronous = {synchronous}")
    return link


def version_of(link: sqlite3.Connection) -> int:
    return int(link.execute("PRAGMA user_version").fetchone()[0])


def _copy(link: sqlite3.Connection, target: Path) -> None:
    fresh = target.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    copy = sqlite3.connect(fresh)
    try:
        link.backup(copy)
    finally:
        copy.close()
    fresh.replace(target)
