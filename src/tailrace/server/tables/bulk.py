"""Statements that are done for many rows in each commit, as PostgreSQL does them at once: the rows
travel as one JSON array, in which bytes are base64.

One statement a row, even pipelined, costs us twice the time and the database more.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tailrace.server.tables.link import Row
from tailrace.server.tables.statements import STATEMENTS

ROWS = "jsonb_array_elements(?::jsonb) AS r"
MOST_BYTES = 64 * 1024 * 1024  # PostgreSQL takes JSON up to a quarter of a GiB


class Bulk(msgspec.Struct, frozen=True):
    statement: str  # of one value: the array
    key: int | None = None  # where rows may be of the same thing, its place: the last holds

    def value(self, rows: list[Row]) -> str | None:
        """None where the rows must go one by one."""
        if self.key is not None:
            rows = list({row[self.key]: row for row in rows}.values())
        text = msgspec.json.encode(rows).decode()
        return None if "\\u0000" in text or len(text) > MOST_BYTES else text


BULK = {
    STATEMENTS["sent"]: Bulk(
        "INSERT INTO attempts (attempt, bag, idx, host, lease, why, sent_us, timeout_us)"
        " SELECT (r->>0)::bigint, (r->>1)::bigint, (r->>2)::bigint, r->>3, (r->>4)::bigint, r->>5,"
        f" (r->>6)::bigint, (r->>7)::bigint FROM {ROWS}"
    ),
    STATEMENTS["ended"]: Bulk(
        "UPDATE attempts SET ended_us = (r->>0)::bigint, outcome = r->>1,"
        " accepted = (r->>2)::boolean, run_us = (r->>3)::bigint, exit = (r->>4)::bigint,"
        f" body = decode(r->>5, 'base64') FROM {ROWS} WHERE attempt = (r->>6)::bigint",
        key=6,
    ),
    STATEMENTS["settled"]: Bulk(
        "INSERT INTO results (bag, idx, attempt, outcome)"
        f" SELECT (r->>0)::bigint, (r->>1)::bigint, (r->>2)::bigint, r->>3 FROM {ROWS}"
    ),
}


def at_once(statement: str, rows: Iterable[Row]) -> tuple[str, Iterable[Row]]:
    """The statement and its rows, or another that does the same for all of them."""
    bulk = BULK.get(statement)
    value = bulk and bulk.value(list(rows))
    return (bulk.statement, [(value,)]) if bulk and value else (statement, rows)
