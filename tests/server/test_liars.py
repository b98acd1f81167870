"""A worker that lies: of attempts it was never sent, of calls it has made, of what it holds. The
server stays up, and nobody else's attempt is touched."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.spoken import KEY, WORK, Spoken, spoken

from tailrace.bag.outcome import Outcome
from tailrace.worker.blobs import digest

THREE = [[{"type": "list", "name": "n", "values": [1, 2, 3]}]]
LIES = st.lists(
    st.fixed_dictionaries(
        {"results": st.lists(st.tuples(st.integers(0, 4), st.sampled_from(list(Outcome)),
                                       st.integers(0, 2**50)), max_size=4),
         "held": st.lists(st.integers(0, 4), max_size=4),
         "progress": st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), max_size=3)},
        optional={"seq": st.integers(0, 2**40), "session": st.integers(0, 2**40),
                  "known": st.lists(st.integers(0, 2**40), max_size=3),
                  "lease": st.integers(0, 2**40), "ends_s": st.floats(0, 1e11),
                  "capacity": st.dictionaries(st.sampled_from(["cores", "gpus", "x"]),
                                              st.integers(0, 2**40))},
    ),
    min_size=1, max_size=4,
)  # fmt: skip
names = (f"honest{k}" for k in count())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    with spoken(tmp_path_factory.mktemp("liars")) as made:
        yield made


@settings(max_examples=60, deadline=None)
@given(lies=LIES)
def test_a_worker_that_lies_touches_nobody_elses_attempt(
    server: Spoken, lies: list[dict[str, Any]]
) -> None:
    bag = server.submit("echo {n}", axes=THREE)
    try:
        lie_beside_an_honest_one(server, bag, lies)
    finally:
        change = server.call("POST", f"/api/v1/bags/{bag}/change", {"change": "cancel"})
        assert change[0] == 200


def test_of_what_a_worker_sends_no_more_is_kept_than_its_bag_allows(server: Spoken) -> None:
    """An honest text at the limit stays as it is."""
    host = next(names)
    bag = server.submit("true", keep_output=1000)
    (mine,) = [one["attempt"] for one in start(server.work(host=host))]
    sent = {"attempt": mine, "outcome": "succeeded", "exit": 0, "stdout": "b" + "\0" * 5_000_000,
            "stderr": "x" * 1000, "value": "v" * 9_000_000, "pickled": "p" * 9_000_000}  # fmt: skip
    assert server.work(host=host, results=[sent])[0] == 200
    assert len(server.world.store.report(mine)[2]) < 10_000
    (one,) = server.call("GET", f"/api/v1/bags/{bag}/tasks/0")[1]["attempts"]
    told = one["result"]
    assert told["stdout"].startswith("b\0") and told["stdout"].endswith("\0" * 750)
    assert "\n[... 4999001 characters left out by the server ...]\n" in told["stdout"]
    assert told["stdout_bytes"] == 5_000_001 and told["stderr"] == "x" * 1000
    assert told["value"] is None and "at most 1048576 are taken" in told["error"]


def test_thousands_of_times_that_cannot_be_true_stop_nobody(tmp_path: Path) -> None:
    """Summed up they would be more than a store or the journal can hold."""
    many = [[{"type": "list", "name": "n", "values": list(range(2100))}]]
    with spoken(tmp_path) as server:
        server.submit("true {n}", axes=many)
        given, told = 0, start(server.work(capacity={"cores": 5_000_000}))
        while told and given < 2100:
            lies = [
                {"attempt": one["attempt"], "outcome": "succeeded", "exit": 0,
                 "run_us": 2**53, "cpu_us": 2**53} for one in told
            ]  # fmt: skip
            given += len(lies)
            told = start(server.work(capacity={"cores": 5_000_000}, results=lies))
        assert given == 2100 and server.world.available
        for page in ("hosts", "pools", "bags/1"):
            assert server.call("GET", f"/api/v1/{page}")[0] == 200
        longest = max(
            one["result"]["run_s"] for one in server.call("GET", "/api/v1/bags/1/results")[1]
        )
        assert longest < 3600
    with spoken(tmp_path) as server:
        assert server.work(seq=10_000)[0] == 200


def lie_beside_an_honest_one(server: Spoken, bag: int, lies: list[dict[str, Any]]) -> None:
    lab, farm = server.token("pool", "lab"), server.token("pool", "farm")
    host = next(names)
    (mine,) = [one["attempt"] for one in start(server.work(lab, host=host))]
    its = [one["attempt"] for one in start(server.work(farm, host=f"liar-{host}", pool="farm"))]
    for lie in lies:
        call = as_call(lie, [mine, *its, 1, 2**50, 0])
        status, told = server.work(farm, host=f"liar-{host}", **call)
        assert status in (200, 400, 403, 409), told
        assert server.world.available
    done = {"attempt": mine, "outcome": "succeeded", "exit": 0, "stdout": "mine"}
    status, told = server.work(lab, host=host, results=[done])
    assert status == 200 and told["ack"] == [mine]
    told = server.call("GET", f"/api/v1/bags/{bag}/results")[1]
    rows = [one["result"] for one in told]
    tasks = [row["task"] for row in rows if row["outcome"]]
    assert len(tasks) == len(set(tasks))
    by_me = [row for row in rows if row["stdout"] == "mine"]
    assert len(by_me) == 1 and by_me[0]["host"] == host


def start(told: tuple[int, Any]) -> list[Any]:
    assert told[0] == 200, told
    return list(told[1]["start"])


def as_call(lie: dict[str, Any], attempts: list[int]) -> dict[str, Any]:
    named = [attempts[k % len(attempts)] for k in range(5)]
    results = [{"attempt": named[k], "outcome": outcome.value, "run_us": run, "error": "a lie"}
               for k, outcome, run in lie["results"]]  # fmt: skip
    progress = [{"attempt": named[k], "done": done, "ran_us": 1} for k, done in lie["progress"]]
    held = [named[k] for k in lie["held"]]
    return {**lie, "pool": "farm", "results": results, "progress": progress, "held": held}


OTHER = "another machine's key, long enough"


@pytest.mark.parametrize(
    "lie",
    [{"key": OTHER}, {"protocol": 1, "key": "", "held": [2**40]}, {"key": OTHER, "protocol": 1,
     "held": [1]}],
)  # fmt: skip
def test_no_machine_can_be_another_of_its_pool(tmp_path: Path, lie: dict[str, Any]) -> None:
    with spoken(tmp_path) as server:
        lab = server.token("pool", "lab")
        server.submit("echo {n}", axes=THREE)
        (mine,) = start(server.work(lab, host="vm1"))
        status, told = server.work(lab, **{"host": "vm1", "session": 2**53, **lie})
        assert status == 403 and "host vm1 is known by another key" in told["error"]
        assert set(told) == {"error"}
        done = {"attempt": mine["attempt"], "outcome": "succeeded", "exit": 0}
        told = server.work(lab, host="vm1", results=[done])[1]
        assert told["ack"] == [mine["attempt"]] and told["stop"] is None
        assert start(server.work(lab, host="vm1")) != []


def test_a_key_holds_after_a_restart(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        lab = server.token("pool", "lab")
        assert server.work(lab, host="vm1")[0] == 200
    with spoken(tmp_path) as server:
        assert server.work(lab, host="vm1", seq=7, key=OTHER)[0] == 403
        assert server.work(lab, host="vm1", seq=8)[0] == 200


def test_a_call_without_a_key_is_told_so(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        status, told = server.work(key="")
        assert status == 400 and "key" in told["error"]


def test_of_two_that_come_at_once_as_one_new_host_the_second_is_told_to_stop(
    tmp_path: Path,
) -> None:
    with spoken(tmp_path) as server:
        server.submit("echo {n}", axes=THREE)

        async def both() -> Any:
            calls = ({**WORK, "seq": 1, "key": key} for key in (KEY, OTHER))
            return await asyncio.gather(*(server.calling("POST", "/api/v1/work", c) for c in calls))

        (_, first), (_, second) = server.loop.run_until_complete(both())
        assert first["start"] and first["stop"] is None
        assert second["start"] == [] and "known by another key" in second["stop"]


def test_a_session_cannot_leap_so_far_that_no_later_one_is_heard(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        assert server.work(session=5)[0] == 200
        status, told = server.work(session=2**53)
        assert status == 403 and "sessions" in told["error"]
        assert server.work(session=6, seq=1)[1]["stop"] is None
        assert server.work(host="fresh", session=2**53)[0] == 403


def test_a_worker_whose_place_was_taken_is_told_so_and_its_results_are_taken(
    tmp_path: Path,
) -> None:
    with spoken(tmp_path) as server:
        bag = server.submit("echo {n}", axes=THREE)
        (mine,) = start(server.work(session=5))
        server.work(session=6, seq=1, held=[mine["attempt"]])
        done = {"attempt": mine["attempt"], "outcome": "succeeded", "exit": 0}
        told = server.work(session=5, results=[done])[1]
        assert told["ack"] == [mine["attempt"]]
        assert told["stop"] == "session 6 of host h has taken its place" and not told["start"]
        assert server.call("GET", f"/api/v1/bags/{bag}")[1]["succeeded"] == 1


def test_a_worker_from_before_keys_ends_what_it_has_and_gets_nothing_new(tmp_path: Path) -> None:
    """As after the server was brought up to date, in a store that knows the host."""
    with spoken(tmp_path) as server:
        bag = server.submit("echo {n}", axes=THREE)
        (mine,) = start(server.work())
    forget_keys(tmp_path)
    with spoken(tmp_path) as server:
        old = {"protocol": 1, "key": "", "seq": 10}
        told = server.work(**old, held=[mine["attempt"]])[1]
        assert told["start"] == [] == told["drop"] and told["stop"] is None
        done = {"attempt": mine["attempt"], "outcome": "succeeded", "exit": 0}
        assert server.work(**{**old, "seq": 11}, results=[done])[1]["ack"] == [mine["attempt"]]
        assert server.call("GET", f"/api/v1/bags/{bag}")[1]["succeeded"] == 1
        assert server.work(**{**old, "seq": 12})[0] == 409
        assert start(server.work(session=2, seq=1)) != []
        assert server.work(session=3, seq=1, key=OTHER)[0] == 403


def forget_keys(folder: Path) -> None:
    with sqlite3.connect(next(folder.rglob("store.db"))) as link:
        link.execute("UPDATE hosts SET key_hash = NULL")


def test_a_machine_puts_nothing_for_an_attempt_of_another_of_its_pool(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        lab = server.token("pool", "lab")
        server.submit("echo {n}", axes=THREE)
        (mine,) = start(server.work(lab, host="vm1"))
        server.work(lab, host="vm2", key=OTHER)
        path = f"/api/v1/blobs/{digest(b'made')}?attempt={mine['attempt']}"
        said = {"tailrace_host_key": OTHER}
        assert server.call("PUT", path, b"made", lab, **said)[0] == 404
        assert server.call("PUT", path, b"made", lab)[0] == 200
