"""The store keeps what was committed, and refuses what it cannot know."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tailrace.errors import StoreBusy, StoreError
from tailrace.scheduler.rows import UseRow
from tailrace.server.batch import Batch
from tailrace.server.tables import migrations
from tailrace.server.tables.hostwork import HostWork, host_work
from tailrace.server.tables.link import Rejected, Trouble
from tailrace.server.tables.lock import Lock, Owner, alive
from tailrace.server.tables.sqlite import version_of
from tailrace.server.tables.store import Store
from tailrace.server.tables.storeurl import Place


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, path: Path) -> Place:
    """Of a store in each of the databases."""
    return path if request.param == "sqlite" else request.getfixturevalue("database").url()


def test_each_database_has_the_same_steps() -> None:
    numbers = [number for number, _ in migrations.steps()]
    assert [number for number, _ in migrations.steps("postgres")] == numbers


def test_a_store_of_a_newer_version_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _next_step(patch, "CREATE TABLE later (x INTEGER);")
        Store(place).close()
    with pytest.raises(StoreError, match="written by a newer tailrace"):
        Store(place)


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"my thesis, not a database " * 100)
    with pytest.raises(StoreError, match="cannot be opened as a store"):
        Store(path)
    assert path.read_bytes().startswith(b"my thesis")


def _next_step(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    known = migrations.steps
    number = migrations.newest() + 1
    monkeypatch.setattr(migrations, "steps", lambda dialect="": [*known(dialect), (number, text)])
    return number


def test_an_older_store_is_copied_and_then_migrated(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(path).close()
    before = migrations.newest()
    number = _next_step(monkeypatch, "CREATE TABLE later (x INTEGER);")
    store = Store(path)
    assert store.link.version() == number
    assert store.link.execute("SELECT count(*) FROM later").fetchone() == (0,)
    copy = sqlite3.connect(path.with_name(f"store.db.v{before}.bak"))
    assert version_of(copy) == before
    assert copy.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone() == (0,)


def test_a_migration_that_breaks_leaves_the_store_as_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(place).close()
    before = migrations.newest()
    with monkeypatch.context() as patch:
        _next_step(patch, "CREATE TABLE later (x INTEGER); INSERT INTO nowhere VALUES (1);")
        with pytest.raises(StoreError, match="nowhere"):
            Store(place)
    store = Store(place)
    assert store.link.version() == before
    with pytest.raises((sqlite3.OperationalError, Rejected), match="later"):
        store.link.execute("SELECT * FROM later")


def test_a_server_whose_store_was_taken_over_cannot_write(
    place: Place, request: pytest.FixtureRequest
) -> None:
    first = Store(place)
    first.begin_epoch()
    if isinstance(place, str):
        request.getfixturevalue("database").cut_lock(place)
    second = Store(place)
    second.begin_epoch()
    with pytest.raises((StoreError, Trouble)):  # it sees that its lock is lost, or the epoch
        first.commit(_news())
    with pytest.raises(StoreError, match="taken over"):
        first.recover()
        first.commit(_news())
    second.commit(_news())
    assert second.link.execute("SELECT count(*) FROM feed").fetchone() == (1,)


def _news() -> Batch:
    batch = Batch()
    batch.feed = [(1, 0, "phase", b"{}")]
    return batch


def test_a_commit_is_all_or_nothing(place: Place) -> None:
    store = Store(place)
    store.begin_epoch()
    batch = _news()
    batch.settled = [(1, 0, 1, "succeeded"), (1, 0, 2, "succeeded")]  # two results of one task
    with pytest.raises((sqlite3.IntegrityError, Rejected)):
        store.commit(batch)
    assert store.link.execute("SELECT count(*) FROM feed").fetchone() == (0,)
    assert store.link.execute("SELECT count(*) FROM results").fetchone() == (0,)


def test_one_process_owns_a_folder(tmp_path: Path) -> None:
    held = Lock(tmp_path)
    held.announce(Owner(address="http://127.0.0.1:1234", token="secret"))
    with pytest.raises(StoreBusy, match=r"127\.0\.0\.1:1234"):
        Lock(tmp_path)
    owner = alive(tmp_path)
    assert owner is not None
    assert owner.token == "secret"
    held.free()
    assert alive(tmp_path) is None
    Lock(tmp_path).free()


def test_nobody_is_sent_to_one_that_was_killed_before_the_next_says_where_it_is(
    tmp_path: Path,
) -> None:
    killed = Lock(tmp_path)
    killed.announce(Owner(address="http://127.0.0.1:1"))
    os.close(killed._file)  # as the kernel does
    held = Lock(tmp_path)
    assert alive(tmp_path) is None
    held.announce(Owner(address="http://127.0.0.1:2"))
    found = alive(tmp_path)
    assert found is not None and found.address == "http://127.0.0.1:2"
    held.free()


def test_the_token_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    held = Lock(tmp_path)
    held.announce(Owner(address="http://127.0.0.1:1234", token="secret"))
    assert (tmp_path / "server.json").stat().st_mode & 0o077 == 0
    held.free()


def test_attempts_of_a_store_of_version_1_are_found_and_counted_by_their_hosts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = migrations.steps()[:1]
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "steps", lambda dialect="": first)
        old = Store(path)
    old.link.execute("INSERT INTO hosts VALUES ('one', 1, 1, '', '', 0, 0)")
    old.link.execute("INSERT INTO hosts VALUES ('two', 1, 1, '', '', 0, 0)")
    sent = "INSERT INTO attempts (attempt, bag, idx, host, why, sent_us, outcome)"
    old.link.execute("INSERT INTO bags VALUES (1, '', '', '', '', NULL)")
    rows = [
        (1, 1, 0, "one", "", 5, "lost"),
        (2, 1, 0, "two", "", 6, None),
        (3, 1, 1, "one", "", 7, None),
        (4, 1, 2, "one", "", 8, "succeeded"),
        (5, 7, 0, "one", "", 1, "succeeded"),  # of a bag that is gone
    ]
    old.link.executemany(f"{sent} VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    old.close()
    new = Store(path)
    found = new.link.execute("SELECT attempt FROM live_attempts ORDER BY attempt")
    assert found.fetchall() == [(2,), (3,)]
    one, two = HostWork(3, 1, 1), HostWork(1, 0, 1)
    assert host_work(new.link) == {"one": one, "two": two}


def test_what_owners_and_bags_had_is_kept_and_goes_with_its_bag(place: Place) -> None:
    store = Store(place)
    store.begin_epoch()
    had = [UseRow("ada", 0, 7, 1), UseRow("ada", 3, 5, 1), UseRow("ada", 0, 9, 2)]
    batch = Batch()
    batch.uses = [(row.bag, row.owner, msgspec.json.encode(row)) for row in had]
    store.commit(batch)
    assert store.restored().uses == [had[2], had[1]]
    batch = Batch()
    batch.forgotten = [(3,)]
    store.commit(batch)
    assert store.restored().uses == [had[2]]
    store.close()


HOLDS = """import fcntl, sys, time
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(1)"""


@pytest.mark.parametrize("lives", [False, True])
def test_what_a_killed_server_had_just_begun_keeps_its_lock_for_a_moment(
    tmp_path: Path, lives: bool
) -> None:
    first = Lock(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    told = Owner(pid=os.getpid() if lives else gone.pid)
    os.close(first._file)
    (tmp_path / "server.json").write_bytes(msgspec.json.encode(told))
    words = [sys.executable, "-c", HOLDS, str(tmp_path / "lock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        if lives:
            with pytest.raises(StoreBusy):
                Lock(tmp_path)
        else:
            Lock(tmp_path).free()
