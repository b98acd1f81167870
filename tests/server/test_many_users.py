"""What one user asks costs what his own bags cost, however many others have."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import Spoken, spoken

from tailrace.server.records import reading

BAGS = "/api/v1/bags"
COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 4}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path) as made:
        yield made


def _asked(server: Spoken, token: str) -> list[str]:
    """What the tables are asked while a user asks for his bags."""
    statements: list[str] = []
    link: Any = server.world.store.link
    link.set_trace_callback(statements.append)
    status, _ = server.call("GET", BAGS, token=token)
    link.set_trace_callback(None)
    assert status == 200
    return statements


def test_a_list_of_bags_costs_what_the_users_own_cost_and_counts_no_result(server: Spoken) -> None:
    ada, bob = server.token("user", "ada"), server.token("user", "bob")
    server.submit("true", ada)
    alone = _asked(server, ada)
    for _ in range(20):
        server.submit("true", bob)
    assert len(_asked(server, ada)) == len(alone)
    assert len(server.call("GET", BAGS, token=ada)[1]) == 1
    touched = " ".join(_asked(server, bob))
    assert "FROM feed" in touched
    assert "results" not in touched and "attempts" not in touched


def test_what_is_counted_in_mind_is_what_the_tables_count(server: Spoken) -> None:
    spec = {"axes": [[COLUMN]], "retries": {"task_failed": 0}}
    for command in ("true {x}", "false {x}", "sleep {x}"):
        server.submit(command, **spec)
    server.call("POST", f"{BAGS}/3/change", {"change": "cancel"})
    results: list[dict[str, Any]] = []
    for _ in range(6):
        _, reply = server.work(results=results, capacity={"cores": 2000})
        results = [_result(one) for one in reply["start"]]
        told = server.call("GET", BAGS)[1]
        assert told == [_plain(facts) for facts in reading.bags(server.world.store.link)]
        assert told == [server.call("GET", f"{BAGS}/{n}")[1] for n in (1, 2, 3)]
    assert told[0]["succeeded"] and told[1]["failed"] and told[2]["phase"] == "cancelled"


def _result(start: dict[str, Any]) -> dict[str, Any]:
    failed = start["bag"] == 2
    return {
        "attempt": start["attempt"], "outcome": "task_failed" if failed else "succeeded",
        "exit": int(failed), "run_us": 10**9,
    }  # fmt: skip


def _plain(facts: reading.BagFacts) -> dict[str, Any]:
    return {name: getattr(facts, name) for name in facts.__struct_fields__}


def test_news_of_a_bag_wakes_those_alone_who_wait_for_it(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = server.submit("true"), server.submit("true")
    looked: list[int] = []
    feed = reading.feed

    def noted(link: Any, number: int, after: int) -> Any:
        looked.append(number)
        return feed(link, number, after)

    monkeypatch.setattr(reading, "feed", noted)
    newest = reading.newest(server.world.store.link, first)
    path = f"{BAGS}/{first}/events?after={newest}&wait=60"

    async def follow() -> Any:
        waiting = asyncio.create_task(server.calling("GET", path))
        while not looked:
            await asyncio.sleep(0)
        for what in ("pause", "resume", "pause"):
            await server.calling("POST", f"{BAGS}/{second}/change", {"change": what})
        assert looked == [first] and not waiting.done()
        await server.calling("POST", f"{BAGS}/{first}/change", {"change": "pause"})
        return await waiting

    status, items = server.loop.run_until_complete(follow())
    assert (status, items[0]["kind"], looked) == (200, "phase", [first, first])
