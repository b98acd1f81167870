"""Commands that read answer of a run in PostgreSQL, word for word, as they do of it in a file."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.database import Database

from tailrace.server.tables.postgres import Postgres
from tailrace.server.tables.store import Store

ASKED = (
    ("status",), ("status", "1"), ("status", "1", "--json"), ("results", "--json"),
    ("results", "--csv"), ("results", "--failed"), ("logs", "1"), ("logs", "0", "--bag", "1"),
    ("explain", "1/1"), ("explain", "1"), ("hosts",), ("hosts", "--json"), ("replay",),
    ("simulate", ".", "--seeds", "1"), ("simulate", ".", "--until", "1h"), ("tokens",),
)  # fmt: skip


@pytest.fixture(scope="module")
def moved(swept: Path, database: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The very rows of a run in a file, in a database."""
    folder = tmp_path_factory.mktemp("moved") / swept.name
    shutil.copytree(swept, folder)
    url, file = database.url(), folder / ".tailrace" / "store.db"
    _copy(sqlite3.connect(file), url)
    for path in file.parent.glob("store.db*"):
        path.unlink()
    (file.parent / "store.url").write_text(url)
    return folder


def _copy(source: sqlite3.Connection, url: str) -> None:
    target = Store(url)
    assert isinstance(target.link, Postgres)
    target.link.execute("DELETE FROM meta WHERE key = 'epoch'")
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    for (table,) in source.execute(names).fetchall():
        rows = source.execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in rows.description]
        values = ", ".join("?::int::boolean" if name == "accepted" else "?" for name in columns)
        into = f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE"
        target.link.write([(f"{into} VALUES ({values})", rows.fetchall())])
    for table in ("feed", "journal"):  # new rows are numbered after those that came so
        last = f"(SELECT max(n) FROM {table})"
        target.link.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'n'), {last})")
    target.close()


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_a_command_answers_as_of_a_file(swept: Path, moved: Path, words: tuple[str, ...]) -> None:
    of_file, of_database = ask(swept, *words), ask(moved, *words)
    assert of_database == of_file
    assert of_file.code in (0, 1)


def test_the_report_is_the_same(swept: Path, moved: Path) -> None:
    pages = [ask(folder, "report", "--output", f"{folder}/page.html") for folder in (swept, moved)]
    assert [page.code for page in pages] == [0, 0]
    assert (swept / "page.html").read_text() == (moved / "page.html").read_text()


def test_changes_without_a_server_reach_the_database(moved: Path) -> None:
    assert ask(moved, "retry", "1").code == 0
    assert ask(moved, "status", "1", "--json").json["failed"] == 0
    told = ask(moved, "tokens", "add", "ada", "--user")
    assert told.code == 0, told.err
    assert "ada" in ask(moved, "tokens").out
    assert ask(moved, "tokens", "revoke", "1").code == 0
    assert "revoked" in ask(moved, "tokens").out


def test_a_backup_copies_what_lies_beside_a_database_and_names_what_copies_that(
    moved: Path, tmp_path: Path
) -> None:
    told = ask(moved, "backup", str(tmp_path / "copy"))
    assert told.code == 0 and "pg_dump --schema=" in told.out
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["store.url"]
    (tmp_path / "copy").rename(tmp_path / ".tailrace")
    assert ask(tmp_path, "status", "--json").json == ask(moved, "status", "--json").json
