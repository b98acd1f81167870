"""Bags go when their time is over: whole, a little at a time, and nothing else with them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.database import Database
from tests.real.served import serving, tailrace, wait_for
from tests.server.spoken import OWNER, Spoken, spoken

from tailrace.scheduler import leases
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.server.files import sweeping
from tailrace.server.files.retention import Retention
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.web.app import App

BAGS = "/api/v1/bags"
COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 3}
OF_BAG = ("bags", "results", "attempts", "feed", "troubles", "submissions", "chunks")
LONG_US = 10**15


def _keeping(server: Spoken, retention: Retention) -> None:
    server.app = App(server.world, OWNER, sweeper=Sweeper(server.world, retention))


def _finish(server: Spoken, command: str, outcome: str = "succeeded") -> int:
    """A bag of three tasks, run to its end."""
    bag = server.submit(command, axes=[[COLUMN]], retries={"task_failed": 0}, max_failures=10)
    results: list[dict[str, Any]] = []
    for _ in range(10):
        reply = server.work(results=results, capacity={"cores": 3000})[1]
        results = [_result(one["attempt"], outcome) for one in reply["start"]]
        if server.call("GET", f"{BAGS}/{bag}")[1]["phase"] == "finished":
            return bag
    raise AssertionError("it does not end")


def _result(attempt: int, outcome: str = "succeeded") -> dict[str, Any]:
    return {"attempt": attempt, "outcome": outcome, "exit": 0, "run_us": 10**8}


def _end_leases(server: Spoken) -> None:
    """No driver does it here."""

    async def end() -> None:
        for lease in list(server.world.state.leases):
            await server.world.tell(LeaseChanged(lease, LeaseState.GONE))

    server.loop.run_until_complete(end())


def _gc(server: Spoken, **more: bool) -> list[int]:
    status, told = server.call("POST", "/api/v1/gc", {"keep_s": 10**9, **more})
    assert status == 200, told
    return [one["bag"] for one in told["removed"]]


def _rows(server: Spoken, bag: int) -> int:
    count = "SELECT count(*) FROM {} WHERE bag = ?"
    found = (server.world.store.link.execute(count.format(t), (bag,)) for t in OF_BAG)
    return sum(rows.fetchone()[0] for rows in found)


def _listed(server: Spoken) -> list[int]:
    return [one["bag"] for one in server.call("GET", BAGS)[1]]


@pytest.mark.parametrize("kind", ["file", "database"])
def test_what_is_past_its_time_goes_whole_and_its_numbers_do_not_come_back(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "SLICE", 2)
    monkeypatch.setattr(leases, "KEPT_US", 0)
    store = ""
    if kind == "database":
        database: Database = request.getfixturevalue("database")
        store = database.url()
    with spoken(tmp_path, store) as server:
        good, bad = _finish(server, "true {x}"), _finish(server, "false {x}", "task_failed")
        runs = server.submit("sleep {x}", axes=[[COLUMN]])
        (started,) = server.work()[1]["start"]
        _keeping(server, Retention(0, LONG_US))
        assert _gc(server) == []  # its lease stands
        _end_leases(server)
        _keeping(server, Retention(LONG_US))
        assert _gc(server) == []
        _keeping(server, Retention(0, LONG_US))
        assert _gc(server, dry_run=True) == [good] and _rows(server, good)
        assert _gc(server) == [good] and _listed(server) == [bad, runs]
        assert server.call("GET", f"{BAGS}/{good}")[0] == 404
        _keeping(server, Retention(0))
        assert _gc(server) == [bad] and _listed(server) == [runs]
        assert [_rows(server, bag) for bag in (good, bad)] == [0, 0]
        assert server.world.store.leaving() == []
        # A result of what is gone is acknowledged, and one of what runs is taken.
        late, own = _result(1), _result(started["attempt"])
        assert server.work(results=[late, own])[1]["ack"] == [1, started["attempt"]]
        server.call("POST", f"{BAGS}/{runs}/change", {"change": "cancel"})
        server.work(held=[])
        _end_leases(server)
        assert _gc(server) == [runs] and _listed(server) == []
        newest = server.world.state.next_attempt
    with spoken(tmp_path, store) as server:
        assert server.world.state.next_attempt >= newest
        assert server.submit("true") == runs + 1


def test_a_bag_whose_results_a_later_one_has_stays_as_long(tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text('[retention]\nkeep = "0s"\n')
    for words in ("1", "1 2"):
        tailrace(
            tmp_path, "run", "-q", "--", "test", "1", "-eq", "{}", ":::", *words.split(), code=None
        )
    told = ask(tmp_path, "gc", "--dry-run").out
    assert "bag 2 (test), 2 tasks, would be removed: it ended" in told and "bag 1 " not in told
    assert ask(tmp_path, "gc").out.startswith("bag 2 (test), 2 tasks, removed: it ended")
    assert ask(tmp_path, "gc").out.startswith("bag 1 (test), 1 task, removed: it ended")
    with sqlite3.connect(tmp_path / ".tailrace/store.db") as link:
        counts = [link.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in OF_BAG]
    assert counts == [0] * len(OF_BAG)
    (tmp_path / "tailrace.toml").write_text("\n[retention]\nkeeps = 7\n")
    wrong = ask(tmp_path, "gc")
    assert wrong.code == 2 and "tailrace.toml:2" in wrong.err and "'keeps'" in wrong.err


def test_a_server_removes_what_is_past_its_time_by_itself_and_says_so(tmp_path: Path) -> None:
    tailrace(tmp_path, "run", "-q", "--", "echo", "{}", ":::", "1")
    (tmp_path / "tailrace.toml").write_text('[retention]\nkeep = "0s"\n')
    with serving(tmp_path) as server:
        log = tmp_path / "log"
        wait_for(lambda: "bag 1 (echo, 1 tasks) removed: it ended" in log.read_text())
        assert server.ask(server.token("root", "admin"), "GET", BAGS) == (200, [])
        assert server.end() == 0
