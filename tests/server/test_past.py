"""Results of earlier bags at a server: who is told of them, and which a new bag takes over."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.database import Database
from tests.server.spoken import SPEC, Spoken, spoken

from tailrace.bag.identity import basis
from tailrace.bag.spec import BagSpec
from tailrace.server.files.retention import Retention, of_no_use
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.principals import OWNER
from tailrace.server.people.tokens import Tokens
from tailrace.server.submission import Submission
from tailrace.server.tables import store
from tailrace.server.web import handing
from tailrace.server.web.api import Api
from tailrace.server.web.past import Past
from tailrace.server.web.routes import Call

BAGS, COMPARE = "/api/v1/bags", "/api/v1/compare"


def sweep(count: int, start: int = 0, **more: Any) -> dict[str, Any]:
    column = {"type": "range", "name": "x", "start": str(start), "step": "1", "count": count}
    return {**SPEC, "command": "true {x}", "axes": [[column]], **more}


def sign(spec: dict[str, Any]) -> str:
    return basis(msgspec.convert(spec, BagSpec))


@pytest.fixture(params=["file", "database"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Spoken]:
    url = ""
    if request.param == "database":
        database: Database = request.getfixturevalue("database")
        url = database.url()
    with spoken(tmp_path, url) as made:
        yield made


def hand_in(server: Spoken, spec: dict[str, Any], token: str, **more: Any) -> Any:
    status, told = server.call("POST", BAGS, {"spec": spec, **more}, token)
    assert status == 200, told
    return told


def do_all(server: Spoken, failing: tuple[int, ...] = ()) -> None:
    """All tasks there are, by a machine that has room for each."""
    results: list[dict[str, Any]] = []
    while True:
        _, reply = server.work(results=results, capacity={"cores": 100_000})
        results = [_result(one["attempt"], one["index"] in failing) for one in reply["start"]]
        if not results:
            return


def _result(attempt: int, fails: bool) -> dict[str, Any]:
    outcome = "task_failed" if fails else "succeeded"
    return {"attempt": attempt, "outcome": outcome, "exit": int(fails), "run_us": 1, "value": None}


def from_bags(server: Spoken, bag: int) -> list[int | None]:
    _, told = server.call("GET", f"{BAGS}/{bag}/results")
    return [one["result"]["from_bag"] for one in told if one["result"]["outcome"]]


def test_a_user_is_told_of_his_own_results_and_takes_no_others(server: Spoken) -> None:
    ada, bob = server.token("user", "ada"), server.token("user", "bob")
    small, large = sweep(4), sweep(6, -1)
    hand_in(server, small, ada, programs={"sim.py": "abc"})
    do_all(server)
    path = f"/api/v1/earlier?basis={sign(large)}"
    asked = {"spec": large, "bags": [1]}
    assert server.call("GET", path, token=ada)[1] == [{"bag": 1, "programs": {"sim.py": "abc"}}]
    told = server.call("POST", COMPARE, asked, ada)[1]
    assert told == {"tasks": 4, "bags": [1], "changed": 0, "ended": ""}
    for token in (bob, "secret"):  # nor does who owns the folder: his new bag is his own
        assert server.call("GET", path, token=token)[1] == []
        assert server.call("POST", COMPARE, asked, token)[1]["tasks"] == 0
        assert hand_in(server, large, token, taking={"bags": [1]})["taken"] == 0
    assert hand_in(server, large, ada, taking={"bags": [1]})["taken"] == 4
    assert from_bags(server, 4) == [1, 1, 1, 1]
    do_all(server)
    assert from_bags(server, 4) == [None, 1, 1, 1, 1, None]
    assert server.call("GET", f"{BAGS}/4", token=ada)[1]["phase"] == "finished"


def test_what_is_stale_failed_or_of_another_command_is_done_again(server: Spoken) -> None:
    ada = server.token("user", "ada")
    spec = sweep(10, retries={"task_failed": 0})
    hand_in(server, spec, ada)
    do_all(server, failing=(3,))
    asked = {"spec": spec, "bags": [1, 77], "times": True}
    told = server.call("POST", COMPARE, asked, ada)[1]
    ended = memoryview(zlib.decompress(base64.b64decode(told["ended"]))).cast("q")
    assert told["tasks"] == 9 and [i for i, at in enumerate(ended) if at == 0] == [3]
    stale = base64.b64encode(bytes([0b0000_0001, 0b0000_0010])).decode()
    taken = hand_in(server, spec, ada, taking={"bags": [1], "stale": stale})
    assert taken["taken"] == 7
    done = [one["result"] for one in server.call("GET", f"{BAGS}/2/results")[1]]
    assert [one["task"] for one in done if not one["outcome"]] == [0, 3, 9]
    other = sweep(10, command="false {x}")
    assert hand_in(server, other, ada, taking={"bags": [1]})["taken"] == 0


def test_what_cannot_be_compared_is_refused(server: Spoken) -> None:
    many, spec = sweep(30_000_000), sweep(8)
    stale = base64.b64encode(b"\0\1").decode()
    for path, body, said in (
        (COMPARE, {"spec": many, "bags": [1]}, "too many to be compared"),
        (BAGS, {"spec": many, "taking": {"bags": [1]}}, "too many to be compared"),
        (BAGS, {"spec": spec, "taking": {"bags": [1], "stale": stale}}, "`stale` has more bits"),
        (COMPARE, {"spec": {**spec, "axes": []}, "bags": [1]}, "is not a parameter"),
        (COMPARE, {"spec": spec, "bags": list(range(101))}, "length"),
    ):
        status, told = server.call("POST", path, body)
        assert status == 400 and said in told["error"], told
    assert server.call("GET", BAGS)[1] == []


def test_a_commit_that_fails_and_is_made_again_has_the_results_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spoken(tmp_path) as server:
        hand_in(server, sweep(4), "secret")
        do_all(server)
        write, failed = server.world.store.link.write, list[Any]()

        def fails_once(work: Any) -> None:
            write(work)
            if not failed:
                failed.append(work)
                raise sqlite3.OperationalError("disk is full")

        monkeypatch.setattr(server.world.store.link, "write", fails_once)
        told = hand_in(server, sweep(5), "secret", taking={"bags": [1]})
        assert failed and told["taken"] == 4
        assert from_bags(server, told["bag"]) == [1, 1, 1, 1]


def test_a_call_made_again_is_told_how_many_were_taken_over(server: Spoken) -> None:
    hand_in(server, sweep(4), "secret")
    do_all(server)
    body = {"spec": sweep(6), "taking": {"bags": [1]}}
    first = server.call("POST", BAGS, body, idempotency_key="k")
    assert first[1]["taken"] == 4
    assert server.call("POST", BAGS, body, idempotency_key="k") == first


def test_a_bag_whose_results_are_just_taken_over_does_not_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweeper looks while the results are found: it waits, and then the bag is of use."""
    with spoken(tmp_path) as server:
        for spec in (sweep(1, command="false {x}"), sweep(4)):  # the machine is of the first bag
            hand_in(server, spec, "secret")
            do_all(server)
        sweeper = Sweeper(server.world, Retention(keep_us=0))
        made = Api(server.world, Tokens(server.world.store), sweeper)
        (route,) = [one for one in made.routes.all if (one.method, one.path) == ("POST", BAGS)]
        taken, swept = Past.taken, list[asyncio.Future[Any]]()

        async def while_swept(*words: Any) -> Any:
            found = await taken(*words)
            swept.append(asyncio.ensure_future(sweeper.sweep()))
            await asyncio.wait(swept, timeout=0.2)
            return found

        monkeypatch.setattr(Past, "taken", while_swept)

        async def go() -> Any:
            body = msgspec.convert({"spec": sweep(5), "taking": {"bags": [2]}}, Submission)
            told = await route.handler(Call(OWNER, {}, None, body))
            return told, await swept[0]

        told, gone = server.loop.run_until_complete(go())
        assert told.taken == 4 and not gone
        assert len(from_bags(server, told.bag)) == 4


def test_many_results_are_laid_down_in_slices_between_which_others_are_answered(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing, "SLICE", 2)
    monkeypatch.setattr(store, "SLICE", 2)
    hand_in(server, sweep(7), "secret")
    do_all(server)
    body, seen = {"spec": sweep(8), "taking": {"bags": [1]}}, list[list[int]]()

    async def go() -> Any:
        handing = asyncio.ensure_future(server.calling("POST", BAGS, body))
        while not handing.done():
            _, told = await server.calling("GET", BAGS)
            seen.append([one["bag"] for one in told])
            await asyncio.sleep(0)
        return handing.result()

    status, told = server.loop.run_until_complete(go())
    assert (status, told["taken"]) == (200, 7) and seen.count([1]) > 3
    assert from_bags(server, 2) == [1] * 7 and server.world.store.leaving() == []
    do_all(server)
    assert server.call("GET", f"{BAGS}/2")[1]["phase"] == "finished"


def test_what_was_laid_down_of_a_bag_that_never_came_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing, "SLICE", 2)
    with spoken(tmp_path) as server:
        hand_in(server, sweep(7), "secret")
        do_all(server)
        monkeypatch.setattr(server.world, "ending", True)
        body = {"spec": sweep(8), "taking": {"bags": [1]}}
        assert server.call("POST", BAGS, body)[0] == 503
    with spoken(tmp_path) as server:  # the next life
        link = server.world.store.link
        assert hand_in(server, sweep(1), "secret")["bag"] == 3, "the number is used"
        results = "SELECT count(*) FROM results WHERE bag = 2"
        assert link.execute(results).fetchone()[0] == 7
        server.loop.run_until_complete(Sweeper(server.world, Retention()).sweep())
        assert link.execute(results).fetchone()[0] == 0
        assert len(from_bags(server, 1)) == 7


def test_files_of_a_bag_are_kept_as_long_as_another_has_its_results(server: Spoken) -> None:
    link = server.world.store.link
    for spec in (sweep(2), sweep(2, command="false {x}")):
        hand_in(server, spec, "secret")
    do_all(server)
    hand_in(server, sweep(3), "secret", taking={"bags": [1]})
    assert of_no_use(link, [1, 2]) == [2]
    assert of_no_use(link, [1, 2, 3]) == [1, 2, 3], "the taker goes, too"
