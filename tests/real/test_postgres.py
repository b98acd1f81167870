"""A bag under `tailrace run` with its store in PostgreSQL, which is restarted again and again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.database import Database
from tests.docs import pages
from tests.real.conftest import Folder

PAGE = pages.ROOT / "docs/how-to/postgresql.md"
ADDRESS = "postgresql://tailrace@db.example/lab"
TASKS, RESTARTS = 200, 3
PATIENCE_S = 60.0


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _wait_for(folder: Folder, count: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while len(_lines(folder.path / "begun")) < count and time.monotonic() < until:
        time.sleep(0.02)


@pytest.fixture
def folder_in_postgres(folder: Folder, database: Database) -> Folder:
    folder.write("tailrace.toml", f'store = "{database.url()}"\n')
    return folder


def test_a_bag_outlives_restarts_of_the_database(
    folder_in_postgres: Folder, database: Database
) -> None:
    folder = folder_in_postgres
    command = "echo {} >> begun; sleep 0.02; echo value {}"
    words = map(str, range(TASKS))
    run = folder.start("run", "-j", "2", "--no-report", "--", command, ":::", *words)
    for number in range(1, RESTARTS + 1):
        _wait_for(folder, number * TASKS // (RESTARTS + 1))
        database.stop()
        database.start()
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, (out, err)
    assert "trying again" in err
    assert sorted(_lines(folder.path / "begun"), key=int) == list(map(str, range(TASKS)))
    told = folder.results()
    assert [one["stdout"] for one in told] == [f"value {n}\n" for n in range(TASKS)]
    assert {one["attempts"] for one in told} == {1}


def test_the_page_says_what_commands_print(database: Database, tmp_path: Path) -> None:
    text = PAGE.read_text().replace(ADDRESS, database.url())
    before, setting_up, after = text.partition("```console not-run\n$ pip")
    page = tmp_path / "page.md"
    page.write_text(before + setting_up + after.replace("console not-run", "console"))
    for ran in pages.run(page):
        assert pages.agrees(ran.command.expected, ran.printed), pages.disagreement(page, ran)


def test_a_folder_stays_with_its_store(folder_in_postgres: Folder, database: Database) -> None:
    folder = folder_in_postgres
    assert folder.tailrace("run", "--quiet", "--", "echo", ":::", "a").returncode == 0
    folder.write("tailrace.toml", f'store = "{database.url()}"\n')
    told = folder.tailrace("run", "--quiet", "--", "echo", ":::", "a")
    assert told.returncode == 2
    assert "its runs are in postgresql://" in told.stderr
    (folder.path / "tailrace.toml").unlink()
    assert "1  echo  finished" in folder.tailrace("status").stdout
