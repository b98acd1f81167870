"""Bags go when their time is over: whole, a little at a time, and nothing else with them."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.cli.conftest import ask
from tests.database import Database
from tests.real.served import serving, tailrace, wait_for
from tests.server.spoken import OWNER, SPEC, Ahead, Spoken, end_leases, spoken

from tailrace.scheduler import leases
from tailrace.scheduler.events import HostSilent
from tailrace.scheduler.journal import Replay
from tailrace.server.files import sweeping
from tailrace.server.files.blobs import of_bag
from tailrace.server.files.retention import Going, Retention
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.records import reading
from tailrace.server.web.app import App
from tailrace.server.web.past import Past
from tailrace.server.world import Parts

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
        end_leases(server)
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
        end_leases(server)
        assert _gc(server) == [runs] and _listed(server) == []
        newest = server.world.state.next_attempt
    with spoken(tmp_path, store) as server:
        assert server.world.state.next_attempt >= newest
        assert server.submit("true") == runs + 1


def _promised_and_gone(server: Spoken) -> list[int]:
    promised = _gc(server, dry_run=True)
    assert _gc(server) == promised
    return promised


def test_a_dry_run_promises_what_goes_then_and_nothing_else(tmp_path: Path) -> None:
    """A lease that has gone keeps its bag for another minute: calls on their way may name it."""
    clock = Ahead()
    with spoken(tmp_path, parts=Parts(clock=lambda: clock)) as server:
        bag = _finish(server, "true {x}")
        _keeping(server, Retention(0))
        assert _promised_and_gone(server) == [], "its lease stands"
        end_leases(server)
        assert _promised_and_gone(server) == [], "its lease has just gone"
        clock.ahead_us += leases.KEPT_US + 1_000_000
        assert _promised_and_gone(server) == [bag]


def test_a_dry_run_promises_no_more_where_no_server_runs(tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text('[retention]\nkeep = "0s"\n')
    with spoken(tmp_path) as server:
        _finish(server, "true {x}")
    for words in (("--dry-run",), ()):
        assert "it ended" not in ask(tmp_path, "gc", *words).out, "its lease stands"
    with spoken(tmp_path) as server:
        end_leases(server)
    assert "bag 1 (b), 3 tasks, would be removed: it ended" in ask(tmp_path, "gc", "--dry-run").out
    assert "bag 1 (b), 3 tasks, removed: it ended" in ask(tmp_path, "gc").out


@pytest.mark.parametrize("keep", ["x", "-1d", "inf", "1e999d", "nan", ""])
def test_what_is_no_time_to_keep_is_bad_input(tmp_path: Path, keep: str) -> None:
    wrong = ask(tmp_path, "gc", f"--keep={keep}")
    assert wrong.code == 2 and wrong.err.startswith("tailrace: --keep: ") and "7d" in wrong.err


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


class _Watched(asyncio.Lock):
    """Says when somebody has to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = asyncio.Event()

    async def acquire(self) -> Literal[True]:
        if self.locked():
            self.waited.set()
        return await super().acquire()


class _Meeting(Sweeper):
    """A submission has just begun to take results over when the blobs are looked through; it goes
    on when these have been, or wait for it."""

    def __init__(self, server: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(server.world, Retention())
        self.forgetting = self._lock = _Watched()
        self._server, self._taking, self._real = server, asyncio.Event(), Past.taken
        monkeypatch.setattr(Past, "taken", lambda *words: self._taken(*words))

    async def sweep(self) -> list[Going]:
        gone = await super().sweep()
        self.submission = asyncio.ensure_future(self._submit())
        await self._taking.wait()
        return gone

    async def _submit(self) -> tuple[int, Any]:
        spec = {**SPEC, "command": "true {x}", "axes": [[COLUMN]]}
        return await self._server.calling("POST", BAGS, {"spec": spec, "taking": {"bags": [1]}})

    async def _taken(self, *words: Any) -> Any:
        found = await self._real(*words)
        self._taking.set()
        waits = asyncio.ensure_future(self._lock.waited.wait())
        await asyncio.wait([waits, self.collection], return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        return found

    async def collected(self) -> tuple[Any, Any]:
        call = self._server.calling("POST", "/api/v1/gc", {"keep_s": 0})
        self.collection = asyncio.ensure_future(call)
        return await self.collection, await self.submission


def test_blobs_of_results_that_are_just_taken_over_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, name = b"an output", hashlib.sha256(b"an output").hexdigest()
    with spoken(tmp_path) as server:
        bag = _finish(server, "true {x}")
        server.world.blobs.put(of_bag(bag), name, data)
        meeting = _Meeting(server, monkeypatch)
        server.app = App(server.world, OWNER, sweeper=meeting)
        collected, submitted = server.loop.run_until_complete(meeting.collected())
        assert collected[0] == 200 and submitted[0] == 200, (collected, submitted)
        assert submitted[1]["taken"] == 3
        assert server.call("GET", f"/api/v1/blobs/{name}?bag={bag}") == (200, data)


def test_a_server_removes_what_is_past_its_time_by_itself_and_says_so(tmp_path: Path) -> None:
    tailrace(tmp_path, "run", "-q", "--", "echo", "{}", ":::", "1")
    (tmp_path / "tailrace.toml").write_text('[retention]\nkeep = "0s"\n')
    with serving(tmp_path) as server:
        log = tmp_path / "log"
        wait_for(lambda: "bag 1 (echo, 1 tasks) removed: it ended" in log.read_text())
        assert server.ask(server.token("root", "admin"), "GET", BAGS) == (200, [])
        assert server.end() == 0


def _pages_of(server: Spoken) -> list[int]:
    rows = server.world.store.link.execute("SELECT n FROM journal ORDER BY n").fetchall()
    return [row[0] for row in rows]


def _trimmed(server: Spoken, **more: bool) -> int:
    status, told = server.call("POST", "/api/v1/gc", {"keep_s": 10**9, **more})
    assert status == 200, told
    return int(told["pages"])


@pytest.mark.parametrize("kind", ["file", "database"])
def test_the_journal_of_before_all_bags_that_are_left_goes_and_the_rest_is_replayed(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins with a page that carries all rows, so with that of a server's start."""
    monkeypatch.setattr(sweeping, "SLICE", 2)
    monkeypatch.setattr(leases, "KEPT_US", 0)
    store = ""
    if kind == "database":
        database: Database = request.getfixturevalue("database")
        store = database.url()
    with spoken(tmp_path, store) as server:
        _finish(server, "true {x}")
        end_leases(server)
        _keeping(server, Retention(0))
        assert _trimmed(server) == 0  # its own life, which the next page could not be read without
        before = len(_pages_of(server)) + 1  # that of its end
    with spoken(tmp_path, store) as server:
        stays = _finish(server, "false {x}", "task_failed")
        end_leases(server)
        _keeping(server, Retention(LONG_US))
        assert _trimmed(server) == 0
        _keeping(server, Retention(0, LONG_US))
        assert _gc(server, dry_run=True) == [] and _listed(server) == [stays]
        pages = _pages_of(server)
        # Others may have come behind them since: a lease that is over is looked at again.
        assert _trimmed(server, dry_run=True) == before
        assert _pages_of(server)[: len(pages)] == pages
        assert _trimmed(server) == before
        assert _pages_of(server)[: len(pages) - before] == pages[before:]
        assert _trimmed(server) == 0
        bodies = list(reading.journal(server.world.store.link))
    steps = list(Replay(bodies, check=True).steps())
    assert len(steps) > 5 and all(step.same for step in steps)


def _forget(server: Spoken, retention: Retention) -> int:
    sweeper = Sweeper(server.world, retention)
    return server.loop.run_until_complete(sweeper.forget_hosts())


def _silent(server: Spoken) -> None:
    """Time passes, and nobody calls."""

    async def pass_by() -> None:
        for host in list(server.world.state.hosts):
            await server.world.tell(HostSilent(host))

    server.loop.run_until_complete(pass_by())


@pytest.mark.parametrize("kind", ["file", "database"])
def test_hosts_that_are_silent_and_that_no_bag_knows_are_forgotten(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "KEPT_US", 0)
    store = ""
    if kind == "database":
        database: Database = request.getfixturevalue("database")
        store = database.url()
    with spoken(tmp_path, store) as server:
        bag = _finish(server, "true {x}")
        assert server.work(host="idle", capacity={"cores": 0})[0] == 200
        end_leases(server)
        assert _forget(server, Retention(0)) == 0, "they are there"
        _silent(server)
        assert _forget(server, Retention()) == _forget(server, Retention(LONG_US)) == 0
        assert _forget(server, Retention(0)) == 1
        assert sorted(server.world.state.hosts) == ["h"], "it has worked for a bag that is left"
        assert sorted(server.world.store.sessions()) == ["h"]
        _keeping(server, Retention(0))
        status, told = server.call("POST", "/api/v1/gc", {"keep_s": 10**9})
        assert (status, [one["bag"] for one in told["removed"]], told["hosts"]) == (200, [bag], 1)
        assert not server.world.state.hosts and not server.world.store.sessions()
        # One that calls again comes as a new one, with a key of its own.
        assert server.work(host="idle", capacity={"cores": 0}, key="n" * 32)[0] == 200
        assert sorted(server.world.state.hosts) == ["idle"]
    with spoken(tmp_path, store) as server:
        assert sorted(server.world.state.hosts) == ["idle"]


def test_a_host_that_has_a_task_is_not_forgotten(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.submit("sleep {x}", axes=[[COLUMN]])
        assert server.work()[1]["start"]
        _silent(server)
        assert _forget(server, Retention(0)) == 0
        assert sorted(server.world.state.hosts) == ["h"]


def test_gc_without_a_server_forgets_journal_and_hosts_too(tmp_path: Path) -> None:
    tailrace(tmp_path, "run", "-q", "--", "true", ":::", "1")
    tailrace(tmp_path, "run", "-q", "--", "true", ":::", "2", code=None)
    (tmp_path / "tailrace.toml").write_text('[retention]\nkeep = "0s"\n')
    told = ask(tmp_path, "gc")
    assert told.code == 0 and "of the journal removed" in told.out, told
    assert "1 host removed" in told.out and ask(tmp_path, "hosts", "--json").json == []
    again = tailrace(tmp_path, "run", "-q", "--", "echo", "{}", ":::", "3")
    assert again.returncode == 0
    assert "identical" in ask(tmp_path, "replay").out
