"""Calls handed to a server that stays, by one of its users."""

from __future__ import annotations

import os
import time
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from tests.cli.conftest import ask
from tests.real.served import serving, wait_for, worker

import tailrace
from tailrace.cli import place
from tailrace.errors import BadInput, ServerError
from tailrace.python import elsewhere
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.people.secretfile import keep
from tailrace.server.records import reading
from tailrace.server.records.reading import FeedItem
from tailrace.server.submission import Submission, checked
from tailrace.server.web import answering


def test_a_server_elsewhere_makes_the_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(x: int) -> float:
        if x == 13:
            raise ValueError("thirteen")
        return x / 2

    monkeypatch.chdir(tmp_path)
    with serving(tmp_path, "--local") as server:
        ada = server.token("ada", "user")
        monkeypatch.setenv("TAILRACE_TOKEN", ada.token)
        with tailrace.Executor(server=ada.url) as executor:
            results = executor.map(half, range(300))
            assert [next(results) for _ in range(13)] == [x / 2 for x in range(13)]
            with pytest.raises(ValueError, match="thirteen"):
                next(results)
            pid = executor.submit(os.getpid).result(timeout=60)
            after = executor.map(half, range(5))
        assert list(after) == [0.0, 0.5, 1.0, 1.5, 2.0]
        assert pid != os.getpid()
        status, bags = server.ask(ada, "GET", "/api/v1/bags")
        assert (status, [bag["owner"] for bag in bags]) == (200, ["ada"] * 3)
        values = [tailrace.records(3, unpickle=insist)[1]["value"] for insist in (None, True)]
        assert values == [0.5, 0.5]
        assert _unpickled_when_read(tmp_path) == [False, True]
        bags = [tailrace.records(n, server=ada.url) for n in (1, 2, 3)]
        assert [one["value"] for one in bags[0][:14]] == [*(x / 2 for x in range(13)), None]
        assert bags[0][13]["outcome"] == "task_failed" and len(bags[0]) == 300
        assert [one["value"] for one in bags[2]] == [0.0, 0.5, 1.0, 1.5, 2.0]
        with pytest.raises(BadInput, match="a folder and a server"):
            tailrace.records(3, tmp_path, server=ada.url)
        with pytest.raises(BadInput, match="server is empty"):
            tailrace.records(3, server="")
        monkeypatch.setenv("TAILRACE_TOKEN", "wrong")
        with pytest.raises(BadInput, match="does not know your token"):
            tailrace.Executor(server=ada.url).submit(half, 1)


def test_machines_that_joined_make_calls_if_their_token_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as server:
        ada, doubtful = server.token("ada", "user"), server.token("theirs", "pool")
        monkeypatch.setenv("TAILRACE_TOKEN", ada.token)
        with worker(tmp_path / "theirs", TAILRACE_JOIN=doubtful.text()):
            with tailrace.Executor(server=ada.url) as executor:
                refused = executor.submit(abs, -1)
                assert "no pool here is trusted" in str(refused.exception(timeout=60))
            lab = server.token("lab", "pool", "--trusted")
            second = worker(tmp_path / "lab", TAILRACE_JOIN=lab.text())
            with second, tailrace.Executor(server=ada.url) as executor:
                assert list(executor.map(abs, range(-20, 0))) == list(range(20, 0, -1))
        status, hosts = server.ask(server.token("root", "admin"), "GET", "/api/v1/hosts")
        assert status == 200
        facts = [one["host"] for one in hosts]
        assert all(host.get("booked", 0) == 0 for host in facts), facts


def test_calls_that_wait_for_a_machine_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Who sees nothing happen cannot know that no machine there is trusted, or that none came."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(elsewhere, "HEED_S", 0.5)
    with serving(tmp_path) as server:
        ada, theirs = server.token("ada", "user"), server.token("theirs", "pool")
        lab = server.token("lab", "pool", "--trusted")
        monkeypatch.setenv("TAILRACE_TOKEN", ada.token)
        with worker(tmp_path / "theirs", TAILRACE_JOIN=theirs.text()):
            wait_for(lambda: server.ask(ada, "GET", "/api/v1/hosts")[1])
            with tailrace.Executor(server=ada.url) as executor:
                waits = executor.submit(abs, -1)
                wait_for(lambda: caplog.messages)
                with worker(tmp_path / "lab", TAILRACE_JOIN=lab.text()):
                    assert waits.result(timeout=60) == 1
                    assert executor.submit(time.sleep, 1.5).result(timeout=60) is None
    (told,) = caplog.messages
    assert told.startswith("calls of bag 1 wait for a machine")
    assert "its pool theirs is not among the bag's (lab)" in told


def _unpickled_when_read(folder: Path) -> list[bool]:
    """Whether reading bag 3, which ada handed in, loads a pickle: by default, and when asked to."""
    found = []
    for insist in (None, True):
        with patch("pickle.loads", return_value="unpickled") as loads:
            tailrace.records(3, folder=folder, unpickle=insist)
            found.append(loads.called)
    return found


def test_the_end_of_a_bag_is_told_also_when_its_results_need_several_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = [("phase", b'{"phase":"cancelled","why":"enough"}')]
    told += [("settled", b'{"tasks":[[%d,"succeeded"]]}' % n) for n in range(2)]
    items = [FeedItem(n, 0, kind, msgspec.Raw(body)) for n, (kind, body) in enumerate(told, 1)]
    monkeypatch.setattr(answering, "MOST_BYTES", 1)
    monkeypatch.setattr(reading, "reports", lambda _, __, some: [(some[0], "succeeded", b"{  }")])
    first = answering.answered(None, 1, 0, items)  # type: ignore[arg-type]
    assert (first.after, len(first.answers), first.over, first.more) == (2, 1, "enough", True)
    rest = answering.answered(None, 1, 2, items[2:])  # type: ignore[arg-type]
    assert (rest.after, len(rest.answers), rest.more) == (3, 1, False)


@pytest.mark.parametrize("wrong", ["python", "ends", "chunks", "items"])
def test_a_bag_of_calls_is_checked_when_it_is_handed_in(wrong: str) -> None:
    from msgspec.structs import replace

    from tailrace.python.calls import Rules, bag_of

    bag = bag_of("f", b"", [b"1", b"2"], Rules().fields("f"), "")
    spec, chunks = bag.spec, list(bag.encode()[1])
    assert checked(Submission(spec, chunks), Principal(Kind.USER, "ada")).count == 2
    assert spec.function is not None
    changed = {"python": {"python": "2.7; rm -rf"}, "ends": {"ends": (3,)}}.get(wrong, {})
    spec = replace(spec, function=replace(spec.function, **changed))
    chunks = {"chunks": chunks[:1], "items": [chunks[0], b"\x91\x01"]}.get(wrong, chunks)
    with pytest.raises(BadInput, match=r"calls has|its items come|does not hold the items"):
        checked(Submission(spec, chunks), Principal(Kind.USER, "ada"))


def test_calls_find_a_server_by_its_join_file_or_by_the_login_and_say_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with serving(tmp_path, "--local", "--tls", "own") as server:
        ada = server.token("ada", "user")
        keep(away / "ada.join", ada.text())
        with monkeypatch.context() as patched, pytest.raises(ServerError) as error:
            patched.setenv("TAILRACE_TOKEN", ada.token)
            tailrace.Executor(server=ada.url).submit(abs, -1).result(60)
        assert "is not one that this machine knows" in str(error.value)
        assert "tailrace login" in str(error.value.remedy) and "firewall" not in error.value.remedy
        monkeypatch.chdir(away)
        with tailrace.Executor(server="ada.join") as executor:
            assert executor.submit(abs, -1).result(60) == 1
        monkeypatch.setattr(place, "nearest", nowhere)  # the server's own folder is above
        assert ask(away, "login", "ada.join", XDG_CONFIG_HOME=str(tmp_path / "config")).code == 0
        with tailrace.Executor() as executor:
            assert executor.submit(abs, -2).result(60) == 2
        with tailrace.Executor(workers=1) as executor:
            assert executor.submit(abs, -3).result(60) == 3
        assert len(server.ask(ada, "GET", "/api/v1/bags")[1]) == 2


def nowhere() -> Path:
    raise BadInput("no folder is near")
