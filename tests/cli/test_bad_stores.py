"""Stores that are empty, newer, damaged or not ours: one sentence, a remedy, exit 6."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.cli.conftest import ask, tailrace

READERS = (["status"], ["status", "1"], ["results", "--json"], ["logs", "0"], ["hosts"],
           ["explain"], ["report"], ["replay"], ["watch"])  # fmt: skip
CHANGERS = (["retry"], ["cancel", "--yes"])
RUNNERS = (["resume"], ["run", "--again", "--", "echo", "{}", ":::", "new"])


def changed(folder: Path, statement: str) -> None:
    link = sqlite3.connect(folder / ".tailrace" / "store.db")
    with link:
        link.execute(statement)
    link.close()


@pytest.mark.parametrize("words", [*READERS, *CHANGERS], ids=" ".join)
def test_a_newer_store_is_refused(copied: Path, words: list[str]) -> None:
    changed(copied, "PRAGMA user_version = 999")
    told = ask(copied, *words)
    assert told.code == 6 and "version 999" in told.err and "upgrade" in told.err


@pytest.mark.parametrize("words", [*READERS, *CHANGERS], ids=" ".join)
def test_a_file_that_is_no_store_is_told(copied: Path, words: list[str]) -> None:
    (copied / ".tailrace" / "store.db").write_bytes(b"this is not a database at all" * 100)
    told = ask(copied, *words)
    assert told.code == 6 and "cannot be read as a store" in told.err and "copy" in told.err


@pytest.mark.parametrize("words", [*READERS, *RUNNERS], ids=" ".join)
def test_a_damaged_page_is_told(copied: Path, words: list[str]) -> None:
    path = copied / ".tailrace" / "store.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    told = ask(copied, *words)
    assert told.code == 6 and "store.db: cannot be read as a store" in told.err


def test_a_garbled_row_is_told(copied: Path) -> None:
    changed(copied, "UPDATE attempts SET body = x'7b7b'")
    told = ask(copied, "results", "--json")
    assert told.code == 6 and "cannot be read as a store" in told.err


def test_an_empty_file_is_no_store_yet(copied: Path) -> None:
    (copied / ".tailrace" / "store.db").write_bytes(b"")
    told = ask(copied, "status")
    assert told.code == 6 and "version 0" in told.err


def test_a_changed_journal_is_a_difference(copied: Path) -> None:
    """Another order of events is another story."""
    link = sqlite3.connect(copied / ".tailrace" / "store.db")
    from tailrace.scheduler.journal import decode_page, encode_page

    rows = link.execute("SELECT n, body FROM journal ORDER BY n").fetchall()
    page = next(p for p in ((n, decode_page(b)) for n, b in rows) if len(p[1].entries) > 1)
    page[1].entries[-1].check ^= 1
    with link:
        link.execute("UPDATE journal SET body = ? WHERE n = ?", (encode_page(page[1]), page[0]))
    link.close()
    told = ask(copied, "replay")
    assert told.code == 1 and "differs" in told.out and "event:" in told.out


def test_a_store_without_bags(copied: Path) -> None:
    for table in ("bags", "results", "attempts", "feed", "hosts", "leases", "journal"):
        changed(copied, f"DELETE FROM {table}")
    assert "no bag here yet" in ask(copied, "status").out
    assert "No host" in ask(copied, "hosts").out
    for words in (["results"], ["explain"], ["report"], ["logs", "0"], ["retry"], ["replay"]):
        assert ask(copied, *words).code == 2


def test_names_and_paths_with_odd_characters(tmp_path: Path) -> None:
    folder = tmp_path / "a b#c?d%20"
    folder.mkdir()
    done = tailrace(folder, "run", "--quiet", "--name", "[red]x", "--", "echo", "{}", ":::", "a")
    assert done.code == 0, done.err
    assert "[red]x" in ask(folder, "status").out
    assert ask(folder, "results", "--json").json[0]["stdout"] == "a\n"


def test_output_that_is_not_text_and_very_long(tmp_path: Path) -> None:
    program = "printf '\\377\\376\\000 end\\n'; head -c 3000000 /dev/zero | tr '\\0' x; echo"
    (tmp_path / "jobs.txt").write_text(program + "\n")
    assert tailrace(tmp_path, "run", "--quiet", "--commands", "jobs.txt").code == 0
    assert "bytes left out" in ask(tmp_path, "logs", "0").out
    for form in ("--table", "--csv", "--json", "--jsonl"):
        assert ask(tmp_path, "results", form).code == 0


def test_resume_brings_an_older_store_up_to_date(tmp_path: Path) -> None:
    """Version 0: the run was killed before its first table was made."""
    (tmp_path / ".tailrace").mkdir()
    (tmp_path / ".tailrace/store.db").touch()
    told = ask(tmp_path, "results")
    assert told.code == 6 and "`tailrace resume` brings it up to date" in told.err
    assert "there is no bag here yet" in ask(tmp_path, "resume").err
    assert "There is no bag here yet" in ask(tmp_path, "status").out
