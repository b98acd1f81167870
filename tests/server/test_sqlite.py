"""The link to SQLite writes many rows in one statement, and what is left over one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.server.tables.sqlite import TOGETHER, Sqlite, open_for_writing
from tailrace.server.tables.statements import STATEMENTS

MANY = (1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER + 7)


@pytest.fixture
def link(tmp_path: Path) -> Sqlite:
    link = open_for_writing(tmp_path / "store.db", "OFF")
    link.execute("CREATE TABLE pairs (k INTEGER PRIMARY KEY, v TEXT NOT NULL)")
    return link


@pytest.mark.parametrize("count", MANY)
def test_all_rows_arrive(link: Sqlite, count: int) -> None:
    rows = [(k, f"v{k}") for k in range(count)]
    link.write([("INSERT INTO pairs (k, v) VALUES (?, ?)", rows)])
    assert link.execute("SELECT k, v FROM pairs ORDER BY k").fetchall() == rows


@pytest.mark.parametrize("count", MANY)
def test_other_statements_are_done_for_each_row(link: Sqlite, count: int) -> None:
    rows = [(k, "old") for k in range(count)]
    link.write([("INSERT INTO pairs VALUES (?, ?)", iter(rows))])
    link.write([("UPDATE pairs SET v = ? WHERE k = ?", [(f"v{k}", k) for k, _ in rows])])
    upsert = "INSERT INTO pairs VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = v || excluded.v"
    link.write([(upsert, [(k, "!") for k, _ in rows])])
    link.write([("DELETE FROM pairs WHERE k = ?", [(0,)])])
    found = link.execute("SELECT k, v FROM pairs ORDER BY k").fetchall()
    assert found == [(k, f"v{k}!") for k, _ in rows[1:]]


def test_a_row_that_cannot_be_written_is_an_error_wherever_it_stands(link: Sqlite) -> None:
    for place in (0, TOGETHER - 1, TOGETHER, TOGETHER + 3):
        rows = [(k, None if k == place else "v") for k in range(TOGETHER + 4)]
        link.execute("BEGIN IMMEDIATE")
        with pytest.raises(Exception, match="NOT NULL"):
            link.write([("INSERT INTO pairs (k, v) VALUES (?, ?)", rows)])
        link.roll_back()
        assert link.execute("SELECT count(*) FROM pairs").fetchone() == (0,)


def test_every_insertion_of_the_store_that_can_be_is_written_together() -> None:
    from tailrace.server.tables.sqlite import _of_several

    together = [name for name, statement in STATEMENTS.items() if _of_several(statement)]
    assert together == ["sent", "settled", "feed", "forgotten", "journal"]
