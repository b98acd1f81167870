"""Calls whose work grows with a bag, over real sockets: others are answered in between."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.server.spoken import SPEC, WORK, spoken
from tests.server.test_visitors import HEALTH, Line, Visited, visited

from tailrace.bag.rows import in_chunks
from tailrace.server.errands import errands, little
from tailrace.server.errands.deeds import Asking, Deed
from tailrace.server.errands.errands import Errands
from tailrace.server.files.retention import Retention
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.tables import store
from tailrace.server.web import handing

BAGS = "/api/v1/bags"
ROWS = 100_000
# More than get their turn while one call waits for its threads and its commit.
ANSWERED = 50


def axis(name: str, count: int, start: int = 1000) -> list[dict[str, Any]]:
    column = {"type": "range", "name": name, "start": str(start), "step": "1", "count": count}
    return [column]


def compared(x: int, y: int = 300, start: int = 1000, **more: Any) -> dict[str, Any]:
    """A bag whose targets differ, which can be seen only from all of them."""
    outputs = [{"name": "out", "place": "{x}{y}"}]
    return {**SPEC, "command": "true {x} {y}", "axes": [axis("x", x, start), axis("y", y)],
            "files": "staged", "outputs": outputs, **more}  # fmt: skip


def listed(count: int, first: int = 0) -> dict[str, Any]:
    """Rows of five numbers."""
    rows = ([str(i)] * 5 for i in range(first, first + count))
    chunks = [base64.b64encode(msgspec.msgpack.encode(chunk)).decode() for chunk in in_chunks(rows)]
    column = {"type": "rows", "columns": list("abcde"), "kinds": ["int"] * 5, "count": count}
    return {"axes": [[column]], "chunks": chunks}


def table(count: int, **more: Any) -> dict[str, Any]:
    made = listed(count)
    spec = {**SPEC, "command": "true {a}", "axes": made["axes"], "order": "-b", **more}
    return {"spec": spec, "chunks": made["chunks"]}


class Caller:
    """Of one server, each call on a line of its own."""

    def __init__(self, to: Visited) -> None:
        self.to = to
        self.world = to.server.world

    async def call(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        return await self._heard(await self._send(method, path, body, token))

    async def counted(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """How many others were answered from when all was here until the answer came, as far as
        that matters; and the answer."""
        sending = self._send(method, path, body, held=1 if body is not None else 0)
        line, last = await sending, b"}" if body is not None else b""
        size = len(json.dumps(body)) - 1 if body is not None else 0
        while self.world.turnstile.bytes < size:
            await asyncio.sleep(0.01)
        health, answered = await self.to.come(), 0
        line[1].write(last)
        heard = asyncio.create_task(self._heard(line))
        while not heard.done() and answered < ANSWERED:
            health[1].write(HEALTH)
            assert (await _answer(health))[0] == 200
            answered += 1
        health[1].close()
        return answered, await heard

    async def _send(
        self, method: str, path: str, body: Any, token: str = "", held: int = 0
    ) -> Line:
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n"
            f"Authorization: Bearer {token or self.to.token}\r\n\r\n"
        )
        return await self.to.come(head.encode() + data[: len(data) - held])

    async def _heard(self, line: Line) -> Any:
        status, told = await _answer(line)
        line[1].close()
        return status, told


async def _answer(line: Line) -> tuple[int, Any]:
    async with asyncio.timeout(300):
        head = (await line[0].readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.split("content-length: ")[1].split("\r\n")[0])
        return int(head.split()[1]), json.loads(await line[0].readexactly(size))


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[Caller]:
    async with visited(folder) as to:
        yield Caller(to)


def test_while_a_bag_is_compared_task_by_task_others_are_answered(tmp_path: Path) -> None:
    async def go() -> None:
        async with calling(tmp_path) as caller:
            body = {"spec": compared(300)}
            assert len(json.dumps(body)) < little.BODY
            answered, (status, told) = await caller.counted("POST", BAGS, body)
            assert (status, told["count"]) == (200, 90_000)
            assert answered == ANSWERED
            more = {"axes": compared(100, start=2000)["axes"]}
            answered, (status, told) = await caller.counted("POST", f"{BAGS}/1/add", more)
            assert (status, told["count"], told["added"]) == (200, 120_000, 30_000)
            assert answered == ANSWERED

    asyncio.run(go())


def test_while_many_rows_come_are_compared_found_or_added_others_are_answered(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with calling(tmp_path) as caller:
            body = table(ROWS, order="listed")
            answered, (status, told) = await caller.counted("POST", BAGS, body)
            assert (status, told["count"]) == (200, ROWS) and answered == ANSWERED
            find = f"{BAGS}/1/find?text=a%3D{ROWS - 1}.0"
            answered, told = await caller.counted("GET", find)
            assert told == (200, ROWS - 1) and answered == ANSWERED
            answered, told = await caller.counted("POST", "/api/v1/compare", {**body, "bags": [1]})
            assert told[0] == 200 and answered == ANSWERED
            more = listed(ROWS // 2, first=ROWS - 10)
            answered, (status, told) = await caller.counted("POST", f"{BAGS}/1/add", more)
            assert (status, told["there"]) == (200, 10) and answered == ANSWERED
            assert told["count"] == ROWS + ROWS // 2 - 10
            _, first = await caller.call("GET", f"{BAGS}/1/tasks/{ROWS}")
            assert first["text"] == f"true {ROWS}"

    asyncio.run(go())


def _work(**said: Any) -> dict[str, Any]:
    return {**WORK, "seq": 1, "pool": "elsewhere", **said}


def test_while_failures_of_a_large_bag_are_read_others_are_answered(tmp_path: Path) -> None:
    async def go() -> None:
        async with calling(tmp_path) as caller:
            many = little.TASKS + 100
            spec = {**SPEC, "command": "false {x}", "axes": [axis("x", many)], "retries": {}}
            assert (await caller.call("POST", BAGS, {"spec": spec}))[0] == 200
            answered, told = await caller.counted("GET", f"{BAGS}/1/failures")
            assert told == (200, []) and answered == ANSWERED
            _, reply = await caller.call("POST", "/api/v1/work", _work())
            failed = {"attempt": reply["start"][0]["attempt"], "outcome": "task_failed", "exit": 3,
                      "run_us": 1, "stderr": "wrong\n"}  # fmt: skip
            work = _work(seq=2, results=[failed], capacity={})
            assert (await caller.call("POST", "/api/v1/work", work))[0] == 200
            _, (status, told) = await caller.counted("GET", f"{BAGS}/1/failures")
            assert status == 200 and "wrong" in json.dumps(told)

    asyncio.run(go())


def test_many_that_failed_are_read_by_another_process_and_told_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spoken(tmp_path) as server:
        server.submit("false {x}", axes=[axis("x", 5)], retries={"task_failed": 0})
        _, reply = server.work(capacity={"cores": 5000})
        failed = [{"attempt": one["attempt"], "outcome": "task_failed", "exit": 3, "run_us": 1}
                  for one in reply["start"]]  # fmt: skip
        server.work(results=failed, capacity={})
        here = [server.call("GET", f"{BAGS}/1/{what}") for what in ("failed", "failures")]
        monkeypatch.setattr(little, "TASKS", 0)
        there = [server.call("GET", f"{BAGS}/1/{what}") for what in ("failed", "failures")]
        assert here == there and here[0][0] == 200 and len(here[0][1]) == len(failed) > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"command": "true {z}"}, "{z} is not a parameter"),
        ({"order": "z"}, "order is 'z'"),
        ({"axes": [[]]}, "an axis without a column"),
        ({"name": 7}, "Expected `str`"),
        ({"outputs": [{"name": "o", "place": "{x}"}], "files": "staged"}, "it lacks {y}"),
    ],
)
def test_what_cannot_be_used_is_refused_in_the_same_words_by_either(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    with spoken(tmp_path) as server:
        spec = compared(3, 3, **change)
        told = []
        for source in ("bag.toml", "bag.toml" + " " * little.BODY):
            status, answer = server.call("POST", BAGS, {"spec": {**spec, "source": source}})
            told.append((status, answer["error"].replace(source, "bag.toml")))
        assert told[0] == told[1] and told[0][0] == 400 and words in told[0][1]
        body = b'{"spec": ' + b" " * little.BODY
        for path in (BAGS, "/api/v1/compare"):
            status, answer = server.call("POST", path, body)
            assert status == 400 and "truncated" in answer["error"]


def test_rows_that_are_none_are_refused(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        body = table(1001)
        for wrong in ([["1"] * 5, ["1"] * 4], [["1"] * 4 + ["x"]], [["1"] * 5]):
            rows = [["1"] * 5 for _ in range(1000 - len(wrong))] + wrong
            rows = rows if len(wrong[-1]) == 4 or wrong[-1][-1] == "x" else rows[1:]
            chunk = base64.b64encode(msgspec.msgpack.encode(rows)).decode()
            status, told = server.call("POST", BAGS, {**body, "chunks": [chunk, body["chunks"][1]]})
            assert status == 400 and "chunk 0 does not hold the rows" in told["error"]


def test_a_list_of_values_beyond_all_reason_is_refused(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        values = {"type": "list", "name": "x", "values": ["v" * 1000] * 9000}
        spec = {**SPEC, "command": "true {x}", "axes": [[values]]}
        status, told = server.call("POST", BAGS, {"spec": spec})
        assert status == 400 and "more than 8,388,608" in told["error"]
        assert "CSV" in told["error"]


def test_a_process_that_dies_harms_nobody_and_the_call_can_be_made_again(tmp_path: Path) -> None:
    async def go() -> None:
        async with calling(tmp_path) as caller:
            body = {"spec": compared(300)}
            handed = asyncio.create_task(caller.call("POST", BAGS, body))
            child = await _child()
            held = {os.readlink(f"/proc/{child}/fd/{fd}") for fd in (0, 1)}
            assert held == {"/memfd:errand (deleted)"}, "no disk has what was sent, or secrets"
            os.kill(child, signal.SIGKILL)
            status, told = await handed
            assert status == 503 and "code -9" in told["error"]
            status, told = await caller.call("POST", BAGS, body)
            assert (status, told["bag"]) == (200, 1)

    asyncio.run(go())


def test_what_takes_too_long_is_ended_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errands, "MOST_S", 0.01)
    with spoken(tmp_path) as server:
        status, told = server.call("POST", BAGS, {"spec": compared(300)})
        assert status == 400 and "hand in a smaller bag" in told["error"]
        assert server.call("GET", BAGS) == (200, [])


async def _child() -> int:
    """Of an errand: the only process that this one has started."""
    task = Path(f"/proc/{os.getpid()}/task")
    async with asyncio.timeout(60):
        while True:
            for one in (word for file in task.glob("*/children") for word in _words(file)):
                if b"tailrace.server.errands" in Path(f"/proc/{one}/cmdline").read_bytes():
                    return int(one)
            await asyncio.sleep(0.01)


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:  # the thread has ended
        return []


def test_bags_of_one_user_are_numbered_as_they_came_and_he_makes_no_other_wait(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with calling(tmp_path) as caller:
            tokens = {}
            for name in ("ada", "bob"):
                asked = {"kind": "user", "name": name}
                tokens[name] = (await caller.call("POST", "/api/v1/tokens", asked))[1]["token"]
            large, small = {"spec": {**compared(300), "files": "here"}}, {"spec": SPEC}
            large["spec"]["outputs"] = []
            large["spec"]["order"] = "x"
            first = asyncio.create_task(caller.call("POST", BAGS, large, tokens["ada"]))
            await _child()
            second = asyncio.create_task(caller.call("POST", BAGS, small, tokens["ada"]))
            status, told = await caller.call("POST", BAGS, small, tokens["bob"])
            assert (status, told["bag"]) == (200, 1) and not first.done()
            assert [(await first)[1]["bag"], (await second)[1]["bag"]] == [2, 3]

    asyncio.run(go())


def test_of_one_user_few_run_at_once_and_others_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[str] = []
    most = dict[str, int]()
    together: set[str] = set()

    class Counted(Errands):
        async def _ran(self, deed: Any, said: Any, body: bytes) -> Any:
            running.append(said.text)
            together.update(running if len(set(running)) > 1 else ())
            most[said.text] = max(most.get(said.text, 0), running.count(said.text))
            await asyncio.sleep(0.05)
            running.remove(said.text)
            raise ValueError("enough")

    async def go() -> None:
        made = Counted(tmp_path)
        asked = [
            made.run(Principal(Kind.USER, name), Deed.FIND, Asking(1, name))
            for name in ["ada"] * 6 + ["bob"] * 2
        ]
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(go())
    assert most == {"ada": errands.MOST_OF_ONE, "bob": 2} and together == {"ada", "bob"}


def test_chunks_of_a_bag_that_never_came_are_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (store, handing):
        monkeypatch.setattr(module, "SLICE_BYTES", 10_000)
    query = "SELECT count(*) FROM chunks WHERE bag = ?"
    with spoken(tmp_path) as server:
        monkeypatch.setattr(server.world, "ending", True)
        assert server.call("POST", BAGS, table(5000))[0] == 503
        assert server.world.store.link.execute(query, (1,)).fetchone()[0] == 5
    with spoken(tmp_path) as server:  # the next life
        status, told = server.call("POST", BAGS, table(5000))
        assert (status, told["bag"]) == (200, 2), "the number is used"
        server.loop.run_until_complete(Sweeper(server.world, Retention()).sweep())
        link = server.world.store.link
        assert [link.execute(query, (bag,)).fetchone()[0] for bag in (1, 2)] == [0, 5]
        _, reply = server.work()  # the largest comes first
        assert [one["index"] for one in reply["start"]] == [4999]


@pytest.mark.parametrize("place", ["file", "database"])
def test_chunks_of_tasks_that_were_never_added_are_in_nobodys_way(
    place: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = request.getfixturevalue("database").url() if place == "database" else ""
    for module in (store, handing):
        monkeypatch.setattr(module, "SLICE_BYTES", 10_000)
    with spoken(tmp_path, url) as server:
        assert server.call("POST", BAGS, table(2000, order="listed"))[0] == 200
        with monkeypatch.context() as ends:
            ends.setattr(server.world, "ending", True)
            assert server.call("POST", f"{BAGS}/1/add", listed(5000, first=10_000))[0] == 503
        count = "SELECT count(*) FROM chunks"
        assert server.world.store.link.execute(count).fetchone()[0] == 7
        for first, size in ((20_000, 10), (30_000, 4000)):  # the one is small, the other laid down
            status, told = server.call("POST", f"{BAGS}/1/add", listed(size, first=first))
            assert (status, told["added"]) == (200, size)
        tasks = [server.call("GET", f"{BAGS}/1/tasks/{at}")[1]["text"] for at in (2000, 2010)]
        assert tasks == ["true 20000", "true 30000"]
        assert server.call("GET", f"{BAGS}/1/find?text=a%3D33999")[1] == 6009
