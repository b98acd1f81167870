"""Who sees what was really written into the tables: from their own triggers, in each database."""

from __future__ import annotations

from typing import Any

from tailrace.server.tables import pgconnect
from tailrace.server.tables.postgres import Postgres
from tailrace.server.tables.sqlite import Sqlite

Row = tuple[Any, ...]

# what happens, on which table, and the row that is told of it: kind and four values
SQLITE_LEASE = (
    "'lease', NEW.lease, json_extract(CAST(NEW.row AS TEXT), '$.state'), NEW.bag,"
    " json_extract(CAST(NEW.row AS TEXT), '$.ends_us')"
)
POSTGRES_LEASE = (
    "'lease', NEW.lease, convert_from(NEW.row, 'UTF8')::json->>'state', NEW.bag,"
    " (convert_from(NEW.row, 'UTF8')::json->>'ends_us')::bigint"
)
WATCHED = (
    ("INSERT ON", "bags", "'bag', NEW.bag, NEW.name, NULL, NULL"),
    ("UPDATE ON", "bags", "'phase', NEW.bag, NEW.phase, NULL, NULL"),
    ("DELETE ON", "results", "'reopened', OLD.bag, OLD.idx, NULL, NULL"),
    ("INSERT ON", "attempts", "'sent', NEW.attempt, NEW.bag, NEW.idx, NEW.host"),
    ("UPDATE OF outcome ON", "attempts", "'ended', NEW.attempt, NEW.outcome, NULL, NULL"),
    ("INSERT ON", "results", "'settled', NEW.bag, NEW.idx, NEW.attempt, NEW.outcome"),
    ("INSERT ON", "leases", "LEASE"),
    ("UPDATE ON", "leases", "LEASE"),
    ("UPDATE OF body ON", "attempts", "'reported', NEW.attempt, NULL, NULL, NULL"),
)


def _of_reports(event: str) -> str:
    """A report that is not there is none."""
    return "WHEN (NEW.body IS NOT NULL) " if "body" in event else ""


class SqliteWitness:
    def __init__(self, link: Sqlite) -> None:
        self._rows: list[Row] = []
        link.create_function("watch", 5, lambda *row: self._rows.append(row))
        for number, (event, table, row) in enumerate(WATCHED):
            told = SQLITE_LEASE if row == "LEASE" else row
            link.execute(
                f"CREATE TEMP TRIGGER t{number} AFTER {event} main.{table} {_of_reports(event)}"
                f"BEGIN SELECT watch({told}); END"
            )

    def begin(self) -> None:
        """A transaction: what an earlier one wrote and lost is forgotten."""
        self._rows.clear()

    def told(self) -> list[Row]:
        return list(self._rows)

    def cut(self) -> None:
        """There is nothing between the store and its file."""

    def close(self) -> None:
        """It ends with the store's own link."""


class PostgresWitness:
    """Through a connection of its own; what a transaction wrote is seen when it is committed."""

    def __init__(self, store: Postgres) -> None:
        self._store = store
        self._cuts = 0
        self._link = pgconnect.connect(store.url, "witness")
        if self._link.execute("SELECT to_regclass('watched')").fetchone() == (None,):
            self._watch()

    def _watch(self) -> None:
        self._link.execute(
            "CREATE TABLE watched (n BIGINT GENERATED ALWAYS AS IDENTITY, told JSONB NOT NULL)"
        )
        for number, (event, table, row) in enumerate(WATCHED):
            told = POSTGRES_LEASE if row == "LEASE" else row
            self._link.execute(
                f"CREATE FUNCTION w{number}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" INSERT INTO watched (told) VALUES (jsonb_build_array({told}));"
                f" RETURN NULL; END $$"
            )
            self._link.execute(
                f"CREATE TRIGGER w{number} AFTER {event} {table} FOR EACH ROW"
                f" {_of_reports(event)}EXECUTE FUNCTION w{number}()"
            )

    def begin(self) -> None:
        """What was rolled back never was."""

    def told(self) -> list[Row]:
        rows = self._link.execute("SELECT told FROM watched ORDER BY n").fetchall()
        self._link.execute("DELETE FROM watched")
        return [tuple(row[0]) for row in rows]

    def cut(self) -> None:
        """By turns the store's connection, that of its lock, and both."""
        self._cuts += 1
        ownership = self._store._ownership
        victims = ((self._store._link,), (ownership._link,), (self._store._link, ownership._link))
        for link in victims[self._cuts % 3]:
            if link is not None and not link.closed:
                pid = link.info.backend_pid
                self._link.execute("SELECT pg_terminate_backend(%s::int, 10000)", (pid,))

    def close(self) -> None:
        self._link.close()


Witness = SqliteWitness | PostgresWitness


def witness_of(link: Any) -> Witness:
    return PostgresWitness(link) if isinstance(link, Postgres) else SqliteWitness(link)
