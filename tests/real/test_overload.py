"""More calls at once than a server can see to: the surplus comes again, and nothing is lost."""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import random
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.real.served import Server, serving, wait_for

from tailrace.server.serving import Serving
from tailrace.server.web import turnstile
from tailrace.server.web.door import Door
from tailrace.server.web.turnstile import FIRST, Full, Turnstile
from tailrace.worker.joining import Join

CALLERS = 2 * FIRST + 44
TRIES = 60


class Caller:
    """A worker that is nothing but its calls; it obeys Retry-After."""

    def __init__(self, name: str, join: Join) -> None:
        self.name = name
        self.acked: list[int] = []
        self.asked_s: list[int] = []  # to stay away
        self._join = join
        self._seq = 0

    async def connect(self) -> None:
        port = int(self._join.url.rpartition(":")[2])
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._send("GET", "/healthz", {})
        assert (await self._heard())[0] == 200

    def work(self, results: list[dict[str, Any]]) -> None:
        self._seq += 1
        body = {
            "protocol": 2, "key": "k" * 32,
        "host": self.name, "session": 1, "seq": self._seq, "pool": "lab",
            "kind": "k", "held": [], "capacity": {"cores": 1000}, "results": results, "wait_s": 0,
        }  # fmt: skip
        self._send("POST", "/api/v1/work", body)

    async def answered(self, results: list[dict[str, Any]]) -> Any:
        """As often as it takes."""
        for _ in range(TRIES):
            status, headers, reply = await self._heard()
            if status == 200:
                return reply
            assert status == 503 and "more calls" in reply["error"]
            self.asked_s.append(int(headers["retry-after"]))
            await asyncio.sleep(self.asked_s[-1] * random.uniform(1.0, 1.25))
            self.work(results)
        raise AssertionError(f"{self.name} is never let in")

    async def report(self, reply: Any) -> None:
        """What it was told to start has succeeded, until there is no more."""
        while reply["start"]:
            attempts = [one["attempt"] for one in reply["start"]]
            results = [{"attempt": one, "outcome": "succeeded"} for one in attempts]
            self.work(results)
            reply = await self.answered(results)
            self.acked += reply["ack"]
        self._writer.close()

    def _send(self, method: str, path: str, body: Any) -> None:
        sent = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._join.token}"
        self._writer.write(f"{head}\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent)

    async def _heard(self) -> tuple[int, dict[str, str], Any]:
        async with asyncio.timeout(60):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in pairs}
            data = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, json.loads(data)


@contextmanager
def _held_up(server: Server) -> Iterator[None]:
    """What is sent meanwhile is all there when it goes on: too much for a machine of any speed."""
    pid = server.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def _storm(server: Server, callers: list[Caller]) -> None:
    await asyncio.gather(*(caller.connect() for caller in callers))
    with _held_up(server):
        for caller in callers:
            caller.work([])
        await asyncio.sleep(0)
    replies = await asyncio.gather(*(caller.answered([]) for caller in callers))
    await asyncio.gather(*map(Caller.report, callers, replies))


def test_the_surplus_of_an_overload_comes_again_and_nothing_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        done = ask(tmp_path, "submit", "--", "true", "{}", ":::", *map(str, range(CALLERS)))
        assert done.code == 0, done.err
        callers = [Caller(f"host{n}", lab) for n in range(CALLERS)]
        asyncio.run(_storm(server, callers))
        refused = [second for caller in callers for second in caller.asked_s]
        assert len(refused) >= CALLERS - FIRST - 1 and min(refused) >= 1
        assert f"tailrace_calls_refused {len(refused)}".encode() in _metrics(server, root)
        acked = sorted(attempt for caller in callers for attempt in caller.acked)
        assert len(acked) == len(set(acked)) == CALLERS
        (bag,) = server.ask(root, "GET", "/api/v1/bags")[1]
        assert (bag["succeeded"], bag["phase"]) == (CALLERS, "finished")
        late = Caller("late", lab)
        asyncio.run(_alone(late))
        assert not late.asked_s
        assert server.end() == 0
    with sqlite3.connect(tmp_path / ".tailrace/store.db") as link:
        stored = link.execute("SELECT attempt FROM results ORDER BY attempt").fetchall()
        out = link.execute("SELECT attempt FROM attempts WHERE outcome = 'succeeded' ORDER BY 1")
        assert [one for (one,) in stored] == [one for (one,) in out] == acked


def _metrics(server: Server, root: Join) -> bytes:
    data: bytes = server.ask(root, "GET", "/metrics")[1]
    return data


async def _alone(caller: Caller) -> None:
    await caller.connect()
    caller.work([])
    await caller.answered([])


def test_who_is_refused_by_his_head_keeps_his_connection_and_strangers_learn_nothing(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with Serving(tmp_path / "runs", (), Door()) as server:
            lab = Join("http://x", json.loads((tmp_path / "runs/server.json").read_text())["token"])
            refused = [lab, lab._replace(token="wrong")]
            _, port = server._sock.getsockname()
            callers = [Caller(f"host{n}", join._replace(url=f"http://127.0.0.1:{port}"))
                       for n, join in enumerate(refused)]  # fmt: skip
            for caller in callers:  # and it is the first word of each
                line = await asyncio.open_connection("127.0.0.1", port)
                caller._reader, caller._writer = line
            server.world.turnstile.room = 0
            for caller in callers:
                caller.work([])
            status, headers, reply = await callers[0]._heard()
            assert (status, reply) == (503, {"error": turnstile.FULL})
            assert int(headers["retry-after"]) == 1 and "connection" not in headers
            assert (await callers[1]._heard())[0] == 401
            callers[0].work([{"attempt": 1, "stdout": "x" * 1_000_000}])
            assert (await callers[0]._heard())[0] == 503
            assert server.world.turnstile.refused == 2 and not server.world.turnstile.bytes
            server.world.turnstile.room = FIRST
            callers[0].work([])
            assert await callers[0].answered([])
            for caller in callers:
                caller._writer.close()

    asyncio.run(go())


def test_heads_that_are_read_together_are_no_more_than_there_is_room_for(tmp_path: Path) -> None:
    async def go() -> None:
        async with Serving(tmp_path / "runs", (), Door()) as server:
            told = json.loads((tmp_path / "runs/server.json").read_text())
            join = Join(server.address, told["token"])
            callers = [Caller(f"host{n}", join) for n in range(20)]
            for caller in callers:
                await caller.connect()
            server.world.turnstile.room = 5
            for caller in callers:  # sent at once, before the server, of this loop, reads one
                caller.work([])
            heard = [await caller._heard() for caller in callers]
            assert sorted(status for status, _, _ in heard) == [200] * 5 + [503] * 15
            last = [visitor.cycle.scope["path"] for visitor in server._http.porches[0]._visitors]
            assert last.count("/healthz") == 15  # nothing was begun for those refused
            for caller in callers:
                caller._writer.close()

    asyncio.run(go())


def test_strangers_take_no_room_from_workers(tmp_path: Path) -> None:
    """Heads without a token of ours, read just before that of a worker."""

    async def go() -> None:
        async with Serving(tmp_path / "runs", (), Door()) as server:
            told = json.loads((tmp_path / "runs/server.json").read_text())
            join = Join(server.address, told["token"])
            strangers = [Caller(f"s{n}", join._replace(token="wrong")) for n in range(20)]
            worker = Caller("host", join)
            _, port = server._sock.getsockname()
            for caller in (*strangers, worker):
                caller._reader, caller._writer = await asyncio.open_connection("127.0.0.1", port)
            server.world.turnstile.room = 5
            for caller in (*strangers, worker):
                caller.work([])
            assert (await worker._heard())[0] == 200
            assert {(await caller._heard())[0] for caller in strangers} == {401}
            assert server.world.turnstile.refused == 0
            for caller in (*strangers, worker):
                caller._writer.close()

    asyncio.run(go())


def test_there_is_room_for_as_many_as_a_cycle_can_see_to() -> None:
    door = Turnstile()

    def crowd(seconds_each: float) -> int:
        """As many as are let in, and a cycle that takes its time for each."""
        let_in = 0
        with pytest.raises(Full):
            while True:
                door.check(0.0)
                door.came(0.0)
                let_in += 1
        door.cycled(let_in * seconds_each)
        return let_in

    assert [crowd(0.0001) for _ in range(4)] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    slow = turnstile.CYCLE_S / 50
    crowd(slow)
    assert [crowd(slow) for _ in range(3)] == [8 * FIRST, 4 * FIRST, 2 * FIRST]  # it may be chance
    crowd(slow / 2)
    assert [crowd(slow / 2) for _ in range(2)] == [100, 100]
    door.cycled(10.0)  # nobody waited: it was no call's doing
    assert crowd(slow / 2) == 100


def test_who_comes_behind_an_old_call_is_told_to_wait() -> None:
    door = Turnstile()
    door.came(0.0)
    door.check(2.5)
    with pytest.raises(Full) as told:
        door.check(3.5)
    assert told.value.after_s == 1
    door.cycled(3.6)
    door.check(5.0)


@pytest.mark.parametrize("times", [2, 5, 10])
def test_those_refused_become_few_however_many_there_are_and_come_back(times: int) -> None:
    """A server that sees to a hundred calls a second, or refuses five hundred; workers with work
    for a second each. After a minute all but fifty are gone."""
    door, refused, seen, longest = Turnstile(), [0] * 120, [0] * 120, 0
    chance, busy_until = random.Random(1), 0.0
    door.room = int(100 * turnstile.CYCLE_S)
    due = [(chance.random(), number) for number in range(100 * times)]
    while due and due[0][0] < 120:
        now, number = heapq.heappop(due)
        if now > 60 and number >= 50:
            continue
        try:
            if busy_until - now > turnstile.CYCLE_S:
                door.refuse(now)
            door.came(now)
            door.clear()
            seen[int(now)] += 1
            busy_until = max(busy_until, now) + 0.01
            heapq.heappush(due, (busy_until + 1, number))
        except Full as full:
            refused[int(now)] += 1
            longest = max(longest, full.after_s)
            busy_until = max(busy_until, now) + 0.002
            heapq.heappush(due, (now + full.after_s * chance.uniform(1.0, 1.25), number))
    assert sum(seen[30:60]) > 0.85 * 3000 and sum(refused[30:60]) < 0.4 * sum(seen[30:60])
    assert 2 <= longest <= turnstile.LONGEST_S
    assert sum(refused[110:]) == 0 and sum(seen[110:]) > 450


def test_bodies_in_hand_are_bounded_but_one_alone_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turnstile, "MOST_BYTES", 100)
    monkeypatch.setattr(turnstile, "LITTLE", 0)
    door = Turnstile()
    with door.load("ada") as one:
        one.add(1000, 0.0)
        with door.load("bob") as other, pytest.raises(Full):
            other.add(1, 0.0)
    with door.load("bob") as other:
        other.add(75, 0.0)
    assert door.bytes == 0 and not door.of


def test_nobody_keeps_others_out_by_what_he_has_in_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnstile, "MOST_BYTES", 1000)
    monkeypatch.setattr(turnstile, "LITTLE", 10)
    door = Turnstile()
    with door.load("ada") as one, door.load("ada") as two, door.load("bob") as three:
        one.add(500, 0.0)
        with pytest.raises(Full):
            two.add(1, 0.0)
        three.add(240, 0.0)
        with pytest.raises(Full):
            three.add(11, 0.0)
        with door.load("cleo") as little:
            little.add(10, 0.0)
            with pytest.raises(Full):
                little.add(1, 0.0)
        with door.load("lab", works=True) as work:
            work.add(230, 0.0)
    assert door.bytes == 0 and not door.of
