"""A worker that ends says so with its last call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.spoken import Spoken, spoken

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
