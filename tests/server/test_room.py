"""A disk that is nearly full: what others send is refused before the store has no room itself."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.server.spoken import SPEC, Spoken, spoken

from tailrace.server.files import room
from tailrace.server.web import allowance

DATA = b"some bytes"
BLOB = f"/api/v1/blobs/{hashlib.sha256(DATA).hexdigest()}"
COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 3}
SENT: list[tuple[str, str, Any]] = [
    ("PUT", BLOB, DATA),
    ("POST", "/api/v1/bags", {"spec": SPEC}),
    ("POST", "/api/v1/bags/1/add", {"axes": [[{**COLUMN, "start": "7"}]]}),
]


class Usage(NamedTuple):
    free: int


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path) as made:
        made.submit("true {x}", axes=[[COLUMN]])
        yield made


@pytest.mark.parametrize("method, path, body", SENT)
def test_nothing_is_taken_in_when_the_disk_is_nearly_full(
    server: Spoken, method: str, path: str, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Usage(room.KEPT_BYTES - 1)
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: left)
    status, told = server.call(method, path, body)
    assert status == 507 and "its admin frees some" in told["error"]
    left = Usage(room.KEPT_BYTES)
    assert server.call(method, path, body)[0] == 200


def test_what_runs_goes_on_and_brings_its_results(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: Usage(1000))
    (start,) = server.work()[1]["start"]
    done = {"attempt": start["attempt"], "outcome": "succeeded", "exit": 0, "run_us": 10}
    assert server.work(results=[done])[1]["ack"] == [start["attempt"]]
    assert server.call("GET", "/api/v1/bags/1")[1]["succeeded"] == 1
    assert b"tailrace_disk_free_bytes 1000" in server.call("GET", "/metrics")[1]


def _put(server: Spoken, data: bytes, token: str) -> tuple[int, Any]:
    return server.call("PUT", f"/api/v1/blobs/{hashlib.sha256(data).hexdigest()}", data, token)


@pytest.mark.parametrize("counted_s", [0.0, 60.0])
def test_a_user_keeps_no_more_than_his_share_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted_s: float
) -> None:
    monkeypatch.setattr(allowance, "COUNT_S", counted_s)
    with spoken(tmp_path, quota=250_000) as server:
        ada, bob = server.token("user", "ada"), server.token("user", "bob")
        for letter in (b"a", b"b", b"c"):
            assert _put(server, letter * 100_000, ada)[0] == 200
        status, told = _put(server, b"d" * 100_000, ada)
        assert status == 507 and "244.1 KiB" in told["error"] and "quota" in told["error"]
        assert server.call("POST", "/api/v1/bags", {"spec": SPEC}, ada)[0] == 507
        assert _put(server, b"a" * 100_000, bob)[0] == 200
        assert server.submit("true", bob) and server.submit("true")


def test_what_is_printed_by_tasks_of_a_user_counts_as_his(tmp_path: Path) -> None:
    with spoken(tmp_path, quota=50_000) as server:
        ada = server.token("user", "ada")
        server.submit("true", ada)
        (start,) = server.work()[1]["start"]
        done = {"attempt": start["attempt"], "outcome": "succeeded", "stdout": "x" * 60_000}
        assert server.work(results=[done])[1]["ack"]
        server.app._allowance._used.clear()  # a minute later
        assert server.call("POST", "/api/v1/bags", {"spec": SPEC}, ada)[0] == 507


def test_outputs_that_were_published_for_a_user_count_as_his(tmp_path: Path) -> None:
    """Also when the blobs they came as are gone."""
    left = b"x" * 60_000
    with spoken(tmp_path, quota=50_000) as server:
        ada, lab = server.token("user", "ada"), server.token("pool", "lab")
        assert _put(server, b"{}", ada)[0] == 200
        spec = {**SPEC, "files": "staged", "outputs": [{"name": "o", "place": "o"}],
                "catalogue": {"hash": hashlib.sha256(b"{}").hexdigest(), "size": 2}}  # fmt: skip
        assert server.call("POST", "/api/v1/bags", {"spec": spec}, ada)[0] == 200
        (start,) = server.work(lab)[1]["start"]
        name = hashlib.sha256(left).hexdigest()
        path = f"/api/v1/blobs/{name}?attempt={start['attempt']}"
        assert server.call("PUT", path, left, lab)[0] == 200
        output = {"name": "o", "size": len(left), "hash": name}
        done = {"attempt": start["attempt"], "outcome": "succeeded", "outputs": [output]}
        server.work(lab, results=[done])
        _wait_for(server, lab, tmp_path / ".tailrace/outputs/1/o")
        assert server.call("POST", "/api/v1/gc", {"keep_s": 0})[1]["bags"] == 1
        server.app._allowance._used.clear()  # a minute later
        status, told = server.call("POST", "/api/v1/bags", {"spec": SPEC}, ada)
        assert status == 507 and "you have 58." in told["error"], told


def _wait_for(server: Spoken, lab: str, path: Path) -> None:
    """Until it is there, and the server knows that."""
    until = time.monotonic() + 60
    while server.world.porter.busy or not path.exists():
        assert time.monotonic() < until, "it is not published"
        server.work(lab)
    server.work(lab)
