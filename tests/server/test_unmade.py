"""A task that cannot be made fails for good, alone and with a reason: everything else goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.server.spoken import Spoken, spoken

from tailrace.bag.bag import Bag
from tailrace.bag.rows import Rows, encode_chunk
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import Axis
from tailrace.bag.terms import Retries
from tailrace.bag.values import Range
from tailrace.scheduler.events import BagSubmitted
from tailrace.server.batch import NewBag
from tailrace.server.desk import Desk, Released
from tailrace.server.protocol import WorkReply
from tailrace.server.world import Parts

#: Bags as an earlier server may have stored them, each with one task that cannot be made: what is
#: handed in today is checked, see `test_hostile_bags`.
ROWS = ((Rows(("a",), ("int",), 3),),)
TEXTS = ((Rows(("a",), ("text",), 3),),)
LONG = "x" * 100_000
STORED: dict[str, tuple[str, tuple[Axis, ...], list[str], int, str]] = {
    "a format for another kind": ("echo {a:d}", ROWS, ["1", "1.5", "2"], 1, "format code 'd'"),
    "a number that is none": ("echo {a}", ROWS, ["1", "2", "x"], 2, "could not convert"),
    "a letter beyond all letters": ("echo {a:c}", ROWS, ["65", "2000000", "66"], 1, "range"),
    "half a letter": ("echo {a:c}", ROWS, ["65", "55296", "66"], 1, "surrogates"),
    "a value in many places": ("true " + "{a}" * 60_000, TEXTS, ["1", LONG, "2"], 1, "6,000,100"),
    "a value too long": ("true {a}", TEXTS, ["1", "2", LONG * 30], 2, "3,000,005"),
    "a number beyond all numbers": (
        "echo {a}", ((Range("a", "1", "1e308", 3, whole=False),),), [], 2, "too large"),
}  # fmt: skip


def _keep(server: Spoken, command: str, axes: tuple[Axis, ...], cells: list[str]) -> int:
    """Past all checks."""
    many = Retries(task_failed=2**40)
    chunks = [encode_chunk([[cell] for cell in cells])] if cells else []
    bag = Bag(BagSpec("b", "/tmp", command=command, axes=axes, retries=many), chunks.__getitem__)
    number = server.world.new_bag()
    new = NewBag(number, "b", bag.encode()[0], chunks, owner="")

    async def tell() -> None:
        await server.world.tell(BagSubmitted(number, bag.terms()), new)

    server.loop.run_until_complete(tell())
    return number


def _work_off(server: Spoken, seq: int = 0) -> list[int]:
    """The tasks that were sent, until nothing is left."""
    sent: list[int] = []
    results: list[dict[str, Any]] = []
    for n in range(1, 31):
        status, told = server.work(results=results, seq=seq + n)
        assert status == 200
        sent += [one["index"] for one in told["start"]]
        results = [
            {"attempt": one["attempt"], "outcome": "succeeded", "exit": 0, "run_us": 9}
            for one in told["start"]
        ]
    return sent


@pytest.mark.parametrize("what", STORED)
def test_it_fails_alone_and_says_why(tmp_path: Path, what: str) -> None:
    command, axes, cells, bad, words = STORED[what]
    with spoken(tmp_path) as server:
        bag = _keep(server, command, axes, cells)
        other = server.submit("true")
        assert sorted(_work_off(server)) == sorted([0, *({0, 1, 2} - {bad})])
        facts = server.call("GET", f"/api/v1/bags/{bag}")[1]
        assert (facts["phase"], facts["succeeded"], facts["failed"]) == ("finished", 2, 1)
        assert server.call("GET", f"/api/v1/bags/{other}")[1]["phase"] == "finished"
        task = server.call("GET", f"/api/v1/bags/{bag}/tasks/{bad}")[1]
        (attempt,) = task["attempts"]
        assert attempt["outcome"] == "task_failed"
        assert f"task {bad} cannot be made" in attempt["result"]["error"]
        assert words in attempt["result"]["error"]
        results = server.call("GET", f"/api/v1/bags/{bag}/results")[1]
        assert json.dumps(results).count("task_failed") == 1
        (host,) = server.world.state.hosts.values()
        assert host.booked == 0 and not host.excluded


def test_a_format_that_was_taken_before_it_was_refused_makes_no_task(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        bag = _keep(server, "true {a:>1100000000}", TEXTS, ["1", "2", "3"])
        assert _work_off(server) == []
        told = server.call("GET", f"/api/v1/bags/{bag}/failures")[1]
        assert "more than 1,000 places" in json.dumps(told)
        assert server.call("GET", f"/api/v1/bags/{bag}")[1]["failed"] == 3


class Scribe(Desk):
    """Of a fault that nobody has thought of yet."""

    def release(self, now: int) -> Released:
        out = super().release(now)
        return replace(out, replies=[(ticket, _spoilt(reply)) for ticket, reply in out.replies])


def _spoilt(reply: WorkReply) -> WorkReply:
    start = [replace(one, shell="\ud800") if one.index == 1 else one for one in reply.start]
    return replace(reply, start=start)


def test_also_one_that_cannot_be_written_down_fails_alone(tmp_path: Path) -> None:
    with spoken(tmp_path, parts=Parts(desk=Scribe)) as server:
        bag = _keep(server, "echo {a}", ROWS, ["1", "2", "3"])
        assert sorted(_work_off(server)) == [0, 2]
        (attempt,) = server.call("GET", f"/api/v1/bags/{bag}/tasks/1")[1]["attempts"]
        assert "task 1 cannot be made: 'utf-8'" in attempt["result"]["error"]


def test_one_that_was_decided_on_before_the_server_died_ends_when_it_lives_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spoken(tmp_path) as server:
        bag = _keep(server, "echo {a:d}", ROWS, ["1.5", "1", "2"])
        monkeypatch.setattr(server.world, "_set_alarm", lambda: None)  # no cycle follows
        assert server.work()[1]["start"] == [] and len(server.world.state.attempts) == 1
    with spoken(tmp_path) as server:
        assert len(server.world.state.attempts) == 1
        assert sorted(_work_off(server, seq=9)) == [1, 2]
        task = server.call("GET", f"/api/v1/bags/{bag}/tasks/0")[1]
        assert [one["outcome"] for one in task["attempts"]] == ["task_failed"]
        assert "task 0 cannot be made" in task["text"]


def test_nobody_succeeds_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by guessing its number, either."""
    with spoken(tmp_path) as server:
        bag = _keep(server, "echo {a:d}", ROWS, ["1.5", "1", "2"])
        monkeypatch.setattr(server.world, "_set_alarm", lambda: None)
        assert server.work()[1]["start"] == []
        (attempt,) = server.world.state.attempts
        lie = {"attempt": attempt, "outcome": "succeeded", "exit": 0, "run_us": 9,
               "outputs": [{"name": "x", "path": "/etc/passwd"}]}  # fmt: skip
        assert server.work(results=[lie])[1]["ack"] == [attempt]
        assert server.world.available
        assert server.call("GET", f"/api/v1/bags/{bag}")[1]["succeeded"] == 0
