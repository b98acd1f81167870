"""What PostgreSQL alone can do to a store: be away, end connections, keep an answer to itself."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.database import Database

from tailrace.errors import StoreBusy, StoreError
from tailrace.server.batch import Batch, NewBag
from tailrace.server.tables import pgconnect, pgdriver
from tailrace.server.tables.link import Rejected, Trouble, stream
from tailrace.server.tables.postgres import Postgres, PostgresLink
from tailrace.server.tables.store import Store
from tailrace.server.tables.storeurl import read, shown


@pytest.fixture
def url(database: Database) -> str:
    return database.url()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = Store(url)
    made.begin_epoch()
    yield made
    made.close()


def _news(*kinds: str) -> Batch:
    batch = Batch()
    batch.feed = [(1, 0, kind, b"{}") for kind in kinds]
    return batch


def _kinds(store: Store) -> list[str]:
    return [row[0] for row in store.link.execute("SELECT kind FROM feed ORDER BY n")]


def test_a_second_server_is_refused_with_the_address_of_the_first(url: str, store: Store) -> None:
    store.link.announce("http://127.0.0.1:1234")
    with pytest.raises(StoreBusy, match=r"a server at http://127\.0\.0\.1:1234 already runs"):
        Store(url)
    store.close()
    Store(url).close()


def test_commits_are_durable_before_they_are_answered(database: Database, store: Store) -> None:
    shows = store.link.execute("SHOW synchronous_commit").fetchone()
    assert shows == ("on",)
    database.execute("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
    try:
        other = Store(database.url())
        assert other.link.execute("SHOW synchronous_commit").fetchone() == ("on",)
        other.close()
    finally:
        database.execute("ALTER ROLE CURRENT_USER RESET synchronous_commit")


def test_a_connection_cut_between_commits_is_made_anew(
    database: Database, url: str, store: Store
) -> None:
    store.commit(_news("one"))
    database.cut(url)
    with pytest.raises(Trouble):
        store.commit(_news("lost"))
    with pytest.raises(Trouble):  # also after a question has connected again: first the epoch
        assert _kinds(store) == ["one"]
        store.commit(_news("lost"))
    store.recover()
    store.commit(_news("two"))
    assert _kinds(store) == ["one", "two"]


def test_a_connection_cut_inside_a_transaction_leaves_nothing_of_it(
    database: Database, url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store.link.write

    def cut_after(work: object) -> None:
        write(work)
        database.cut(url)

    monkeypatch.setattr(store.link, "write", cut_after)
    with pytest.raises(Trouble):
        store.commit(_news("lost"))
    monkeypatch.undo()
    store.recover()
    assert _kinds(store) == []


def test_a_commit_whose_answer_was_lost_is_known_after_recovery(
    database: Database, url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = store.link.commit

    def cut_after() -> None:
        commit()
        database.cut(url)
        raise Trouble("the answer was lost")

    monkeypatch.setattr(store.link, "commit", cut_after)
    with pytest.raises(Trouble):
        store.commit(_news("kept"))
    monkeypatch.undo()
    store.recover()
    assert _kinds(store) == ["kept"]


@pytest.mark.parametrize("arrives", [True, False])
def test_recovery_waits_for_a_commit_that_is_still_under_way(store: Store, arrives: bool) -> None:
    """The old connection is gone for us, but the server still works on what it was sent."""
    assert isinstance(store.link, Postgres)
    with pgconnect.connect(store.link.url, "the old connection") as old:
        old.execute("BEGIN")
        old.execute("SELECT value FROM meta WHERE key = 'epoch' FOR UPDATE")
        old.execute("INSERT INTO feed (bag, at_us, kind, body) VALUES (1, 0, 'late', '')")
        recovering = threading.Thread(target=store.recover)
        recovering.start()
        recovering.join(0.3)
        assert recovering.is_alive()
        old.execute("COMMIT" if arrives else "ROLLBACK")
        recovering.join(10)
    assert not recovering.is_alive()
    assert _kinds(store) == (["late"] if arrives else [])


def test_a_server_that_does_not_answer_is_not_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it does when it wakes up is of no effect."""
    assert isinstance(store.link, Postgres)
    monkeypatch.setattr(pgdriver, "SILENCE_S", 0.3)
    asleep = store.link._link.info.backend_pid
    os.kill(asleep, signal.SIGSTOP)
    try:
        with pytest.raises(Trouble, match="no answer for"):
            store.commit(_news("lost"))
        store.recover()
        store.commit(_news("kept"))
    finally:
        os.kill(asleep, signal.SIGCONT)
    gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = ?"
    while store.link.execute(gone, (asleep,)).fetchone() != (0,):
        time.sleep(0.01)
    assert _kinds(store) == ["kept"]


def test_what_arrives_after_recovery_finds_another_epoch(url: str, store: Store) -> None:
    before = store.epoch
    store.recover()
    store.epoch = before
    with pytest.raises(StoreError, match="taken over"):
        store.commit(_news("late"))
    assert _kinds(store) == []


def test_a_server_that_was_taken_over_ends_also_when_the_other_has_ended(
    database: Database, url: str, store: Store
) -> None:
    database.cut_lock(url)
    database.cut(url)
    other = Store(url)
    other.begin_epoch()
    with pytest.raises(StoreError, match="taken over"):
        store.recover()
    other.close()
    with pytest.raises(StoreError, match="taken over"):
        store.recover()


def test_one_that_is_cut_off_takes_its_own_lock_back(
    database: Database, url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has not noticed that the connection is gone, and keeps the lock for it."""
    assert isinstance(store.link, Postgres)
    ownership = store.link._ownership
    gone, ownership._link = ownership._link, None
    store.recover()
    store.commit(_news("one"))
    assert gone is not None
    with pytest.raises(psycopg.OperationalError):
        gone.execute("SELECT 1")


CANNOT = {
    "the disk is full": ("RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'", Trouble),
    "it is read-only": ("RAISE EXCEPTION 'read only' USING ERRCODE = '25006'", Trouble),
    "a deadlock": ("RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'", Trouble),
    "not serializable": ("RAISE EXCEPTION 'retry' USING ERRCODE = '40001'", Trouble),
    "it shuts down": ("PERFORM pg_terminate_backend(pg_backend_pid())", Trouble),
    "our own fault": ("RAISE EXCEPTION 'nonsense' USING ERRCODE = '22023'", Rejected),
}


@pytest.mark.parametrize("why", CANNOT)
def test_what_may_pass_is_told_from_what_will_not(store: Store, why: str) -> None:
    statement, kind = CANNOT[why]
    store.link.execute(
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {statement}; RETURN NULL; END $$"
    )
    store.link.execute("CREATE TRIGGER refuse AFTER INSERT ON feed EXECUTE FUNCTION refuse()")
    with pytest.raises(kind):
        store.commit(_news("lost"))
    store.recover()
    store.link.execute("DROP TRIGGER refuse ON feed")
    store.commit(_news("one"))
    assert _kinds(store) == ["one"]


def test_no_connection_left_is_told_at_the_start(database: Database, url: str) -> None:
    plain, held = database.url("x").partition("?")[0], []
    try:
        with pytest.raises(psycopg.OperationalError):
            for _ in range(100):
                held.append(psycopg.connect(plain))
        with pytest.raises(StoreError, match=r"(?s)too many clients|remaining connection slots"):
            Store(url)
    finally:
        for link in held:
            link.close()


def test_a_server_that_is_not_there_is_told_without_its_password() -> None:
    with pytest.raises(StoreError, match="refused") as told:
        Store("postgresql://me:secret@127.0.0.1:1/lab?schema=mine")
    assert "secret" not in str(told.value)
    assert "postgresql://me@127.0.0.1:1/lab?schema=mine" in str(told.value)


@pytest.mark.parametrize("query", ["?nonsense=1", "?sslmode", ""])
def test_what_cannot_be_read_is_told_without_its_password(query: str) -> None:
    with pytest.raises(StoreError, match="none that PostgreSQL can read") as told:
        Store(f"postgresql://me:sec%ret@127.0.0.1:1/lab{query}")
    assert "sec" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mysql://host/lab", "begins with postgresql://"),
        ("postgresql://host/lab?schema=My+Lab", "no name of a schema"),
        ("postgresql://host/lab?schema=pg_lab", "no name of a schema"),
    ],
)
def test_an_address_that_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read(text)


def test_a_schema_with_other_tables_is_no_store(database: Database, url: str) -> None:
    schema = read(url).schema
    database.execute(f"CREATE SCHEMA {schema}")
    database.execute(f"CREATE TABLE {schema}.meta (key TEXT, value BIGINT)")
    with pytest.raises(StoreError, match="holds tables, but no store"):
        Store(url)


def test_what_is_missing_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'tailrace\[postgres\]'"):
        Store("postgresql://127.0.0.1/lab")


def test_passwords_are_never_shown() -> None:
    url = "postgresql://me:se%40cret@host/lab?password=other&sslmode=require"
    assert shown(url) == "postgresql://me@host/lab?sslmode=require"
    assert "se%40cret" in read(url).conninfo


def test_millions_of_rows_are_read_page_by_page_beside_other_questions(
    url: str, store: Store
) -> None:
    store.commit(_news(*(f"kind {k}" for k in range(2500))))
    link = PostgresLink(read(url))
    rows = stream(link, "SELECT kind FROM feed WHERE bag = ? ORDER BY n", (1,))
    first = next(rows)
    assert link.execute("SELECT count(*) FROM feed").fetchone() == (2500,)
    assert [first, *rows][-1] == ("kind 2499",)
    with pytest.raises(Trouble):
        link.execute("DELETE FROM feed")
    link.close()


def test_who_asks_once_waits_for_a_database_that_is_slow_to_answer(
    url: str, store: Store, database: Database
) -> None:
    database.pause()
    later = threading.Timer(pgconnect.HURRIED_S + 1.5, database.go_on)
    later.start()
    try:
        link = PostgresLink(read(url))
        assert link.execute("SELECT count(*) FROM feed").fetchone() == (0,)
        link.close()
    finally:
        later.join()


def test_text_that_postgresql_cannot_hold_is_kept_without_it(store: Store) -> None:
    store.commit(_news("a\0b"))
    assert _kinds(store) == ["a\ufffdb"]


def test_the_same_batches_make_the_same_tables(store: Store, tmp_path: Path) -> None:
    """Also where PostgreSQL takes many rows at once."""
    other = Store(tmp_path / "store.db")
    other.begin_epoch()
    for one in (store, other):
        for batch in _batches():
            one.commit(batch)
    for table, key in TABLES.items():
        query = f"SELECT * FROM {table} ORDER BY {key}"
        assert store.link.execute(query).fetchall() == other.link.execute(query).fetchall()
    query = "SELECT attempt FROM live_attempts"
    assert store.link.execute(query).fetchall() == other.link.execute(query).fetchall() == [(8,)]


TABLES = {
    "attempts": "attempt", "results": "idx", "troubles": "idx", "hosts": "host",
    "leases": "lease", "unpublished": "attempt", "feed": "n", "journal": "n", "chunks": "k",
}  # fmt: skip


def _batches() -> Iterator[Batch]:
    first = _news("one", "two")
    first.new_bags = [NewBag(1, "bag", b"{}", [b"chunk 0", b"chunk 1"], b"\0\1")]
    first.sent = [(n, 1, n, "host", None if n % 2 else 7, 'why "\u00fc', n, None) for n in range(9)]
    key = b"\x00hash\xff"
    first.hosts = [
        ("host", 1, 2, b"{}", b"{}", 3, 4, None),
        ("host", 2, 2, b"{1}", b"{}", 9, 9, key),
    ]
    first.live = [("[0,1]", "host"), (str(list(range(9))), "host")]
    first.leases = [(7, 1, b"{}"), (7, 1, b"{2}")]
    first.troubles = [(1, 0, b"{}"), (1, 1, b"{}")]
    first.journal = [(b"\xff\0page",)]
    yield first
    second = _news("three")
    second.ended = [(50, "expired", False, None, None, None, 3)]
    second.ended += [(60 + n, "succeeded", True, n, 0, bytes(range(256)) * n, n) for n in range(8)]
    second.noted = [(1, 2, b"late", 3), (1, 2, b"none", 8)]
    second.settled = [(1, n, n, "succeeded") for n in range(8)]
    second.untroubled = [(1, 0)]
    second.unpublished = [(1,), (1,), (2,)]
    second.published = [(2,)]
    second.answered = [(77, "host")]
    yield second


def test_a_name_that_json_cannot_carry_goes_row_by_row(store: Store) -> None:
    batch = Batch()
    batch.sent = [(1, 1, 1, "ho\0st", None, "", 0, None)]
    store.commit(batch)
    assert store.attempt(1) == (1, 1, "ho\ufffdst")
