"""A bag under `tailrace run` with its store in PostgreSQL, which is restarted again and again."""

from __future__ import annotations

import time
from pathlib import Path

from tests.database import Database
from tests.docs import pages
from tests.real.conftest import Folder

PAGE = pages.ROOT / "docs/how-to/postgresql.md"
ADDRESS = "postgresql://tailrace@db.example/lab"
TASKS, RESTARTS = 200, 3
QUARTER = TASKS // (RESTARTS + 1)
# However late a restart comes, tasks are left whose results are only stored after it.
COMMAND = f"""echo {{}} >> begun; sleep 0.02
for k in 1 2 3; do
  while [ {{}} -ge $((k * {QUARTER} + 30)) ] && [ ! -e restarted$k ]; do sleep 0.02; done
done
echo value {{}}"""
PATIENCE_S = 60.0


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _wait_for(folder: Folder, count: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while len(_lines(folder.path / "begun")) < count and time.monotonic() < until:
        time.sleep(0.02)


def test_a_bag_outlives_restarts_of_the_database(folder: Folder, database: Database) -> None:
    folder.write("tailrace.toml", f'store = "{database.url()}"\n')
    words = map(str, range(TASKS))
    run = folder.start("run", "-j", "2", "--no-report", "--", COMMAND, ":::", *words)
    for number in range(1, RESTARTS + 1):
        _wait_for(folder, number * QUARTER)
        database.stop()
        database.start()
        folder.write(f"restarted{number}", "")
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
    daily, _, _ = after.partition("## Copies")  # these are made by PostgreSQL's own programs
    page = tmp_path / "page.md"
    page.write_text(before + setting_up + daily.replace("console not-run", "console"))
    for ran in pages.run(page):
        assert pages.agrees(ran.command.expected, ran.printed), pages.disagreement(page, ran)


def test_a_folder_is_bound_to_the_first_store_that_opens(
    folder: Folder, database: Database
) -> None:
    words = ("run", "--quiet", "--", "echo", ":::", "a")
    told = folder.tailrace(*words, TAILRACE_STORE="postgresql://127.0.0.1:1/lab")
    assert told.returncode == 6
    assert "Connection refused" in told.stderr
    assert folder.tailrace(*words, TAILRACE_STORE=database.url()).returncode == 0
    told = folder.tailrace(*words, TAILRACE_STORE=database.url())
    assert told.returncode == 2
    assert "its runs are in postgresql://" in told.stderr
    assert "1  echo  finished" in folder.tailrace("status").stdout
