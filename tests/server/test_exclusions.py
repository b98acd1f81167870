"""What a machine said of one user's task is not told to the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.server.spoken import Spoken, spoken

MANY = {"axes": [[{"type": "list", "name": "x", "values": list(range(20))}]]}


def _fail(server: Spoken, times: int, **more: Any) -> None:
    """Another host is at work, so that this one is not the last."""
    server.work(host="other", kind="another")
    (first,) = server.work()[1]["start"]
    good = {"attempt": first["attempt"], "outcome": "succeeded"}
    started = server.work(results=[good])[1]["start"]
    assert started
    for _ in range(times):
        failed = [
            {"attempt": one["attempt"], "outcome": "host_failed", "error": "ADA-SECRET", **more}
            for one in started
        ]
        started = server.work(results=failed)[1]["start"]


def test_only_its_owner_and_admins_read_what_a_task_said_when_a_host_is_excluded(
    tmp_path: Path,
) -> None:
    with spoken(tmp_path) as server:
        ada, bob = server.token("user", "ada"), server.token("user", "bob")
        bobs = server.submit("true", bob, needs={"cores": 64000})
        adas = server.submit("echo {x}", ada, retries={"host_failed": 100}, **MANY)
        _fail(server, 8)

        def seen(path: str, token: str) -> str:
            return json.dumps(server.call("GET", f"/api/v1/{path}", token=token)[1])

        admin = server.token("admin", "root")
        assert "it could not run a task of bag" in seen("hosts", bob)
        assert "ADA-SECRET" not in seen("hosts", bob) + seen(f"bags/{bobs}/events", bob)
        assert "excluded" in seen(f"bags/{bobs}/events", bob)
        assert "ADA-SECRET" in seen(f"bags/{adas}/events", ada)
        assert "ADA-SECRET" in seen("hosts", admin)
        assert "ADA-SECRET" in seen("explain?subject=host+h", admin)


def test_a_user_is_told_of_a_machine_and_of_his_own_work_there_alone(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        ada, bob = server.token("user", "ada"), server.token("user", "bob")
        server.work(host="other", kind="another")
        server.work()

        def seen(token: str) -> Any:
            told = server.call("GET", "/api/v1/hosts", token=token)[1]
            (one,) = [one for one in told if one["host"]["row"]["host"] == "h"]
            return one["host"]["row"], one["work"]

        fresh = seen(bob)
        server.submit("echo {x}", ada, retries={"host_failed": 100}, **MANY)
        for outcome in ("succeeded", "host_failed"):
            (held, *_) = [one["attempt"] for one in server.work(session=2)[1]["start"]]
            server.work(session=2, held=[], results=[{"attempt": held, "outcome": outcome}])
        assert seen(bob) == fresh
        row, work = seen(server.token("admin", "root"))
        assert row["succeeded"] == row["booked"] == 1 and row["today"] > 1
        assert seen(ada) == (fresh[0], work) and work["attempts"] > 1


def test_a_host_that_lacks_the_folder_of_one_bag_stays_for_the_others(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.submit("echo {x}", retries={"host_failed": 100}, **MANY)
        _fail(server, 8, of_bag=True)
        (host,) = [one for one in server.call("GET", "/api/v1/hosts")[1]
                   if one["host"]["row"]["host"] == "h"]  # fmt: skip
        assert host["host"]["row"].get("booked", 0) == 0
        assert not host["host"]["row"].get("excluded_until_us", 0)


def test_a_bag_that_no_host_can_run_ends_and_blames_none(tmp_path: Path) -> None:
    """As when its inputs are not with the server any more."""
    with spoken(tmp_path) as server:
        bag = server.submit("echo {x}", **MANY)
        more = {"outcome": "host_failed", "error": "not there", "of_bag": True}
        failed: dict[str, list[Any]] = {"h": [], "other": []}
        for turn in range(200):
            host = ("h", "other")[turn % 2]
            started = server.work(host=host, kind=host, results=failed[host])[1]["start"]
            failed[host] = [{"attempt": one["attempt"], **more} for one in started]
        told = server.call("GET", f"/api/v1/bags/{bag}")[1]
        hosts = server.call("GET", "/api/v1/hosts")[1]
        assert not any(one["host"]["row"].get("booked", 0) for one in hosts), hosts
        assert told["phase"] == "finished", told
