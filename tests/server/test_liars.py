"""A worker that lies: of attempts it was never sent, of calls it has made, of what it holds. The
server stays up, and nobody else's attempt is touched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.spoken import Spoken, spoken

from tailrace.bag.outcome import Outcome

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
