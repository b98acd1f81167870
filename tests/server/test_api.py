"""The API over real HTTP: tokens, bad bodies, the feed, changes, a store that cannot be written."""

from __future__ import annotations

import asyncio
import http.client
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.database import Database

from tailrace.bag.bagfile import bag_from_commands
from tailrace.pools.terms import Pool
from tailrace.scheduler.rows import BagPhase
from tailrace.server import world as worlds
from tailrace.server.batch import Batch
from tailrace.server.embedded import Embedded
from tailrace.server.pools.local_pool import Capacity, LocalPool

Ask = Callable[..., Any]


@asynccontextmanager
async def serving(folder: Path, store: str = "") -> AsyncIterator[tuple[Embedded, Ask]]:
    pools = (LocalPool(Pool("local"), Capacity(cores=1)),)
    async with Embedded(folder / ".tailrace", pools, store=store) as server:
        owner = json.loads((folder / ".tailrace/server.json").read_text())

        def ask(method: str, path: str, body: Any = None, token: str = owner["token"]) -> Any:
            port = int(server.address.rsplit(":", 1)[1])
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            sent = body if isinstance(body, bytes) or body is None else json.dumps(body)
            link.request(method, path, sent, {"Authorization": f"Bearer {token}"})
            reply = link.getresponse()
            return reply.status, json.loads(reply.read())

        async def in_thread(*words: Any, **named: Any) -> Any:
            return await asyncio.to_thread(ask, *words, **named)

        yield server, in_thread


def _bag(folder: Path, *lines: str) -> Any:
    return bag_from_commands(lines, folder, source="jobs")


def test_a_wrong_token_is_refused_everywhere(tmp_path: Path) -> None:
    async def go() -> None:
        async with serving(tmp_path) as (_, ask):
            for method, path in (("GET", "/api/v1/bags"), ("POST", "/api/v1/work")):
                status, _body = await ask(method, path, b"{}", token="wrong")
                assert status == 401

    asyncio.run(go())


def test_bad_calls_are_refused_with_a_reason_and_the_server_goes_on(tmp_path: Path) -> None:
    async def go() -> None:
        async with serving(tmp_path) as (server, ask):
            for body in (b"", b"{", b"[]", b'{"protocol": 2}', b"\xff\xfe", b'{"host": 3}'):
                status, told = await ask("POST", "/api/v1/work", body)
                assert status == 400, body
                assert told["error"]
            call = {
                "protocol": 99, "host": "h", "session": 1, "seq": 1, "pool": "local", "kind": "k",
                "capacity": {}, "held": [], "results": [], "wait_s": 0,
            }  # fmt: skip
            assert (await ask("POST", "/api/v1/work", call))[0] == 409
            assert (await ask("GET", "/api/v1/bags/77"))[0] == 404
            assert (await ask("GET", "/api/v1/bags/x"))[0] == 404
            assert (await ask("GET", "/nowhere"))[0] == 404
            assert (await ask("POST", "/api/v1/bags/1/change", b'{"change": "explode"}'))[0] == 400
            number = server.submit(_bag(tmp_path, "true"))
            assert await server.rest(number) is BagPhase.FINISHED

    asyncio.run(go())


def test_the_feed_tells_of_every_task_once_and_can_be_taken_up_anywhere(tmp_path: Path) -> None:
    async def go() -> None:
        async with serving(tmp_path) as (server, ask):
            number = server.submit(_bag(tmp_path, *["true"] * 30, "exit 3"))
            await server.rest(number)
            _, items = await ask("GET", f"/api/v1/bags/{number}/events?after=0&wait=5")
            settled = [task for item in items for task in item["body"].get("tasks", ())]
            assert sorted(index for index, _ in settled) == list(range(31))
            middle = items[len(items) // 2]["n"]
            _, rest = await ask("GET", f"/api/v1/bags/{number}/events?after={middle}")
            assert rest == [item for item in items if item["n"] > middle]

    asyncio.run(go())


def test_a_waiting_feed_is_answered_when_something_happens(tmp_path: Path) -> None:
    """The task waits for a file that is made only when the call already waits."""

    async def go() -> None:
        async with serving(tmp_path) as (server, ask):
            task = "echo > began; until [ -e go ]; do sleep 0.02; done"
            number = server.submit(_bag(tmp_path, task))
            await _exists(tmp_path / "began")
            _, before = await ask("GET", f"/api/v1/bags/{number}/events?after=0")
            after = before[-1]["n"] if before else 0
            news, waits = server.world.news, asyncio.Event()

            async def waiting(wait_s: float, *bag: int) -> None:
                if wait_s > 30:  # ours, not the view's
                    waits.set()
                await news(wait_s, *bag)

            server.world.news = waiting  # type: ignore[method-assign]
            path = f"/api/v1/bags/{number}/events?after={after}&wait=59"
            answer = asyncio.create_task(ask("GET", path))
            await asyncio.wait_for(waits.wait(), 30)
            assert not answer.done()
            (tmp_path / "go").touch()
            _, found = await asyncio.wait_for(answer, 30)
            assert [task for item in found for task in item["body"].get("tasks", ())]
            await server.rest(number)

    asyncio.run(go())


def test_cancelling_over_the_api_ends_the_tasks(tmp_path: Path) -> None:
    async def go() -> None:
        async with serving(tmp_path) as (server, ask):
            number = server.submit(_bag(tmp_path, *["echo $$ > began; exec sleep 600"] * 2))
            await _exists(tmp_path / "began")
            status, _ = await ask(
                "POST", f"/api/v1/bags/{number}/change", {"change": "cancel", "why": "enough"}
            )
            assert status == 200
            phase = await asyncio.wait_for(server.rest(number), 60)
            assert phase is BagPhase.CANCELLED
            assert not Path("/proc", (tmp_path / "began").read_text().strip()).exists()

    asyncio.run(go())


async def _exists(file: Path) -> None:
    async with asyncio.timeout(30):
        while not (file.exists() and file.read_text()):
            await asyncio.sleep(0.02)


def test_commits_that_fail_for_a_while_lose_nothing(tmp_path: Path) -> None:
    """Each failure drops the desk and restores it from the tables, under load."""

    async def go() -> None:
        async with serving(tmp_path) as (server, _):
            store = server.world.store
            commit = store.commit
            count = 0

            def failing(batch: Batch) -> None:
                nonlocal count
                count += 1
                if count in (2, 4, 9, 10, 15):
                    raise sqlite3.OperationalError("disk I/O error")
                commit(batch)

            store.commit = failing  # type: ignore[method-assign]
            number = server.submit(_bag(tmp_path, *["sleep 0.05; echo x"] * 40))
            assert await asyncio.wait_for(server.rest(number), 60) is BagPhase.FINISHED
            done = store.link.execute("SELECT count(*) FROM results WHERE outcome='succeeded'")
            assert done.fetchone() == (40,)
            assert count > 15

    asyncio.run(go())


def test_a_database_that_is_away_makes_callers_try_again(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds, "TRY_AGAIN_S", 0.1)
    call = {
        "protocol": 2, "key": "k" * 32,
        "host": "h", "session": 1, "seq": 1, "pool": "local", "kind": "k",
        "capacity": {"cores": 1000}, "held": [], "results": [], "wait_s": 0,
    }  # fmt: skip

    async def go() -> None:
        async with serving(tmp_path, database.url()) as (server, ask):
            assert (await ask("GET", "/api/v1/bags"))[0] == 200
            await asyncio.to_thread(database.stop)
            try:
                for words in (("GET", "/api/v1/bags"), ("POST", "/api/v1/work", call)):
                    status, told = await ask(*words)
                    assert (status, told["error"][:19]) == (503, "the store cannot be")
            finally:
                database.start()
            while server.world.trouble:
                await asyncio.sleep(0.02)
            assert await ask("GET", "/api/v1/bags") == (200, [])
            number = server.submit(_bag(tmp_path, "true"))
            assert await asyncio.wait_for(server.rest(number), 30) is BagPhase.FINISHED

    asyncio.run(go())
