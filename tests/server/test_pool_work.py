"""What the machines of pools did: the newest of it, for whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import OWNER, Spoken, spoken

from tailrace.server.records import poolwork

COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 6}


@pytest.fixture(params=["file", "database"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(poolwork, "RECENT", 4)
    return "" if request.param == "file" else str(request.getfixturevalue("database").url())


@pytest.fixture
def server(store: str, tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path, store) as made:
        yield made


def _run(server: Spoken, token: str = OWNER) -> int:
    """A bag of six tasks, to its end."""
    bag = server.submit("true {x}", token, axes=[[COLUMN]])
    results: list[dict[str, Any]] = []
    while started := server.work(results=results)[1]["start"]:
        results = [
            {"attempt": one["attempt"], "outcome": "succeeded", "exit": 0, "run_us": 10**6}
            for one in started
        ]
    return bag


def _finished(server: Spoken, token: str = OWNER) -> int:
    (pool,) = server.call("GET", "/api/v1/pools", token=token)[1]
    return int(pool["finished"])


def test_a_users_own_work_is_told_however_busy_others_are(server: Spoken) -> None:
    ada, bob = server.token("user", "ada"), server.token("user", "bob")
    _run(server, ada)
    hers = _finished(server, ada)
    for _ in range(3):
        _run(server, bob)
    assert _finished(server, ada) == hers == 4
    assert _finished(server, server.token("user", "eve")) == 0


def test_of_a_users_own_work_the_newest_is_told(server: Spoken) -> None:
    """Of all his bags together."""
    ada = server.token("user", "ada")
    for _ in range(2):
        _run(server, ada)
    assert _finished(server, ada) == 4


def test_what_was_done_before_the_server_began_is_told(store: str, tmp_path: Path) -> None:
    """It numbers its attempts far from those of before."""
    with spoken(tmp_path, store) as before:
        _run(before)
    with spoken(tmp_path, store) as after:
        after.submit("true")
        assert after.work(session=2)[1]["start"]
        assert _finished(after) == 3
