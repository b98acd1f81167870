"""What the API says when the server ends, or cannot commit, or is asked for much."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import SPEC, Spoken, spoken

from tailrace.bag import ranking


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path) as made:
        yield made


def test_nothing_is_taken_that_nobody_would_run(server: Spoken) -> None:
    bag = server.submit("true")
    server.world.ending = True
    assert server.call("POST", "/api/v1/bags", {"spec": SPEC})[0] == 503
    assert server.call("POST", f"/api/v1/bags/{bag}/change", {"change": "retry"})[0] == 503
    assert len(server.call("GET", "/api/v1/bags")[1]) == 1


def test_a_server_that_cannot_commit_is_not_well_and_tells_no_stranger_why(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(batch: Any) -> None:
        raise sqlite3.OperationalError("database at db.example is full")

    async def submit() -> None:
        task = asyncio.create_task(server.calling("POST", "/api/v1/bags", {"spec": SPEC}))
        async with asyncio.timeout(60):
            while not server.world.trouble:
                await asyncio.sleep(0.01)
        server.world.refuse_all()
        assert (await task)[0] == 503

    assert server.call("GET", "/healthz", token="") == (200, {"ok": True, "trouble": ""})
    monkeypatch.setattr(server.world.store, "commit", fails)
    server.loop.run_until_complete(submit())
    assert server.call("GET", "/healthz", token="") == (503, {"error": "the store is away"})


def test_a_bag_is_put_in_order_while_others_are_answered(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 5}
    spec = {**SPEC, "command": "echo {x}", "axes": [[column]], "order": "-x"}
    ordered, answered = ranking.by_parameter, []

    def slowly(*words: Any) -> Any:
        asked = server.calling("GET", "/healthz")
        answered.append(asyncio.run_coroutine_threadsafe(asked, server.loop).result(60))
        return ordered(*words)

    monkeypatch.setattr(ranking, "by_parameter", slowly)
    assert server.call("POST", "/api/v1/bags", {"spec": spec})[0] == 200
    assert [status for status, _ in answered] == [200]
    spec["axes"] = [[{**column, "count": 20_000_001}]]
    assert "at most" in server.call("POST", "/api/v1/bags", {"spec": spec})[1]["error"]
