"""A worker that ends says so with its last call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.server.spoken import WORK, Spoken, spoken

NOTHING = {"capacity": {"cores": 0}, "leaves": True}


def _present(server: Spoken) -> dict[str, bool]:
    told = server.call("GET", "/api/v1/hosts")[1]
    return {one["host"]["row"]["host"]: one["present"] for one in told}


def test_what_it_was_sent_and_did_not_hear_of_is_handed_back(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        bag = server.submit("true")
        (lost,) = server.work()[1]["start"]  # a reply that never comes
        status, reply = server.work(**NOTHING)
        assert status == 200 and not reply["start"]
        assert _present(server) == {"h": False}
        (again,) = server.work(host="other")[1]["start"]
        assert again["index"] == lost["index"] and again["attempt"] != lost["attempt"]
        done: dict[str, Any] = {"attempt": again["attempt"], "outcome": "succeeded", "exit": 0}
        server.work(host="other", results=[done])
        task = server.call("GET", f"/api/v1/bags/{bag}/tasks/0")[1]
        assert "succeeded" in str(task) and "lost" not in str(task)


def test_its_results_count_and_it_may_come_back(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.submit("true")
        (start,) = server.work()[1]["start"]
        done = {"attempt": start["attempt"], "outcome": "preempted"}
        reply = server.work(results=[done], **NOTHING)[1]
        assert reply["ack"] == [start["attempt"]] and _present(server) == {"h": False}
        (again,) = server.work(session=2)[1]["start"]
        assert again["index"] == start["index"] and _present(server) == {"h": True}


def test_who_still_holds_something_has_not_left(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.submit("true")
        (start,) = server.work()[1]["start"]
        assert server.work(held=[start["attempt"]], **NOTHING)[0] == 200
        assert _present(server) == {"h": True}
        assert server.work(host="other")[1]["start"] == []


def _left(server: Spoken, host: str = "h", **said: Any) -> list[int]:
    """It takes what it is sent, and leaves in its next call."""
    sent = [one["attempt"] for one in server.work(host=host)[1]["start"]]
    if sent and said.pop("held", False):
        server.work(host=host, held=sent)
    assert server.work(host=host, **NOTHING)[0] == 200
    return sent


def _ends(server: Spoken) -> list[str]:
    task = server.call("GET", "/api/v1/bags/1/tasks/0")[1]
    return [one["outcome"] for one in task["attempts"]]


def test_who_leaves_what_it_was_sent_again_and_again_comes_to_an_end(tmp_path: Path) -> None:
    """Nobody misses his replies each time: from the second time on it counts as lost."""
    with spoken(tmp_path) as server:
        server.submit("true", retries={"lost": 2})
        while _left(server):
            assert len(_ends(server)) < 10
        assert _ends(server) == ["cancelled", "lost", "lost", "lost"]
        assert server.call("GET", "/api/v1/bags/1")[1]["phase"] == "finished"


def test_no_more_if_each_time_it_says_it_is_another(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.submit("true", retries={"lost": 2})
        for turn in range(10):
            _left(server, f"h{turn}")
    with spoken(tmp_path) as server:
        assert _ends(server) == ["cancelled", "lost", "lost", "lost"]


def test_what_it_held_and_says_nothing_of_is_lost(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.submit("true")
        _left(server, held=True)
        assert _ends(server) == ["lost"]


def test_its_last_call_waits_for_nothing(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:

        async def leave() -> bool:
            last = {**WORK, "seq": 1, "wait_s": 60, **NOTHING}
            leaving = asyncio.create_task(server.calling("POST", "/api/v1/work", last))
            for seq in (1, 2, 3):
                other = {**WORK, "seq": seq, "host": "other"}
                await server.calling("POST", "/api/v1/work", other)
            done = leaving.done()
            leaving.cancel()
            return done

        assert server.loop.run_until_complete(leave())
