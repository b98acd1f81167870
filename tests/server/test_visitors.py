"""Connections that take too long, or come in numbers, over real sockets: others go on."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import resource
import socket
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tailrace.server.serving import Serving
from tailrace.server.web import http, porch, visitor
from tailrace.server.web.door import Door
from tailrace.server.web.porch import Porch
from tailrace.server.web.tls import certificate

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds pass when a test says so."""
    monkeypatch.setattr(http, "TICKS", 1 << 40)


class Visited:
    def __init__(self, server: Serving, folder: Path) -> None:
        self.port = server._sock.getsockname()[1]
        self.token = json.loads((folder / "server.json").read_text())["token"]
        self.server = server

    @property
    def porch(self) -> Porch:
        return self.server._http.porches[0]

    @property
    def visitors(self) -> list[visitor.Visitor]:
        return list(self.porch._visitors)

    @property
    def me(self) -> bytes:
        """A call with a token."""
        return f"GET /api/v1/me HTTP/1.1\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode()

    async def come(self, sent: bytes = b"") -> Line:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        await writer.drain()
        return reader, writer

    def post(self, path: str, size: int, token: str = "") -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token or self.token}\r\n"
        return f"{head}Content-Length: {size}\r\n\r\n".encode()

    async def pool(self) -> str:
        """A token of one."""
        body = b'{"kind": "pool", "name": "lab"}'
        line = await self.come(self.post("/api/v1/tokens", len(body)) + body)
        assert await _status(line) == b"200"
        await line[0].readuntil(b"\r\n\r\n")
        return str(json.loads(await line[0].readuntil(b"}"))["token"])

    async def send(self, line: Line, size: int) -> int:
        """How much of it went, until the server had enough."""
        for sent in range(0, size, 1 << 16):
            try:
                line[1].write(b" " * (1 << 16))
                await line[1].drain()
            except ConnectionError:
                return sent
        return size

    async def seconds(self, number: int) -> None:
        """As if they had passed."""
        for _ in range(number):
            await asyncio.sleep(0)
            self.porch.look()


@asynccontextmanager
async def visited(folder: Path, tls: str = "") -> AsyncIterator[Visited]:
    shown = certificate(tls, folder / "runs") if tls else None
    async with Serving(folder / "runs", (), Door(certificate=shown)) as server:
        while not server._http.started:
            await asyncio.sleep(0.01)
        yield Visited(server, folder / "runs")


async def _until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not done():
            await asyncio.sleep(0.01)


async def _rest(line: Line) -> bytes:
    async with asyncio.timeout(30):
        try:
            return await line[0].read()
        except ConnectionError:
            return b""


async def _status(line: Line) -> bytes:
    async with asyncio.timeout(30):
        return (await line[0].readline()).split()[1]


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: x\r\n", HEALTH])
def test_who_says_nothing_or_half_a_head_is_sent_away(tmp_path: Path, sent: bytes) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            line = await door.come(sent)
            await _until(lambda: [one._bytes for one in door.porch._visitors] == [len(sent)])
            await door.seconds(visitor.HEAD_S)
            assert len(door.porch._visitors) == 1
            await door.seconds(2)
            told = await _rest(line)
            assert not door.porch._visitors
            assert (b" 200 " in told) == (sent == HEALTH)

    asyncio.run(go())


def test_who_calls_every_second_is_not_idle_however_quick_the_answers_are(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            line = await door.come()
            for _ in range(visitor.IDLE_S + 10):
                line[1].write(door.me)
                assert await _status(line) == b"200"
                await line[0].readuntil(b"}")
                await _until(lambda: all(one.stage.name == "IDLE" for one in door.visitors))
                await door.seconds(1)
            assert len(door.visitors) == 1

    asyncio.run(go())


def test_who_has_shown_a_token_may_be_idle_for_longer_but_not_within_a_head(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            idle, half = await door.come(door.me), await door.come(door.me)
            assert await _status(idle) == await _status(half) == b"200"
            half[1].write(b"GET /api")
            await _until(lambda: sum(one._in_head for one in door.porch._visitors) == 1)
            await door.seconds(visitor.HEAD_S + 2)
            await _rest(half)
            (left,) = door.porch._visitors
            assert left.known
            idle[1].write(door.me)
            await _until(lambda: door.server._http.server_state.total_requests == 3)

    asyncio.run(go())


def test_a_body_that_stands_still_is_given_up_and_its_room_is_free(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            line = await door.come(door.post("/api/v1/bags", 1 << 20) + b" " * 700_000)
            load = door.server.world.turnstile
            await _until(lambda: load.bytes == 700_000)
            await door.seconds(visitor.BODY_S + 2)
            assert b" 408 " in await _rest(line)
            await _until(lambda: load.bytes == 0)
            assert (await _status(await door.come(HEALTH))) == b"200"

    asyncio.run(go())


def test_a_slow_but_honest_line_brings_its_body_to_an_end(tmp_path: Path) -> None:
    """50 kB a second."""

    async def go() -> None:
        async with visited(tmp_path) as door:
            size, load = 60 * 50_000, door.server.world.turnstile
            line = await door.come(door.post("/api/v1/bags", size))
            for second in range(1, 61):
                line[1].write(b" " * 50_000)
                await _until(lambda come=second * 50_000: load.bytes in (come, 0))
                await door.seconds(1)
            assert await _status(line) == b"400"  # all of it came, and it is no bag

    asyncio.run(go())


def test_a_body_that_trickles_is_given_up(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            line = await door.come(door.post("/api/v1/bags", 1 << 20))
            await _until(
                lambda: any(one.stage is visitor.Stage.BODY for one in door.porch._visitors)
            )
            for _ in range(visitor.BODY_S):
                line[1].write(b" " * 100)
                await asyncio.sleep(0.002)
                await door.seconds(1)
            await door.seconds(1)
            assert b" 408 " in await _rest(line)

    asyncio.run(go())


NONE, POOL = "wrong", "pool"
REFUSALS = [
    (NONE, "/api/v1/bags", 401),
    (NONE, "/api/v1/work", 401),
    (POOL, "/api/v1/bags", 403),
    ("", "/api/v1/gc", 413),
    ("", "/api/v1/nothing", 404),
    (POOL, "/api/v1/work", 503),
]
ENDLESS = 1 << 40


@asynccontextmanager
async def refused(folder: Path, kind: str, path: str, status: int) -> AsyncIterator[Any]:
    """A line whose call is refused, though its body has only begun."""
    async with visited(folder) as door:
        token = await door.pool() if kind == POOL else kind
        if status == 503:
            door.server.world.turnstile.room = 0
        line = await door.come(door.post(path, ENDLESS, token))
        await door.send(line, 2 << 20)
        assert await _status(line) == b"%d" % status
        yield door, line


@pytest.mark.parametrize(("kind", "path", "status"), REFUSALS)
def test_of_a_body_that_is_refused_so_much_is_let_in_and_no_more(
    tmp_path: Path, kind: str, path: str, status: int
) -> None:
    async def go() -> None:
        async with refused(tmp_path, kind, path, status) as (door, line):
            sent = await door.send(line, 8 * visitor.REST_BYTES)
            assert visitor.REST_BYTES / 2 < sent < 4 * visitor.REST_BYTES
            await _until(lambda: not door.visitors)
            assert await _status(await door.come(HEALTH)) == b"200"

    asyncio.run(go())


@pytest.mark.parametrize(("kind", "path", "status"), REFUSALS)
def test_a_body_that_is_refused_comes_to_its_end_soon_or_its_line_does(
    tmp_path: Path, kind: str, path: str, status: int
) -> None:
    async def go() -> None:
        async with refused(tmp_path, kind, path, status) as (door, line):
            for _ in range(visitor.REST_S + 2):
                line[1].write(b" " * 100)
                await asyncio.sleep(0.002)
                await door.seconds(1)
            await _until(lambda: not door.visitors)

    asyncio.run(go())


def test_strangers_are_so_many_and_the_oldest_goes_first(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            door.porch.most_strangers = 5
            known = await door.come(door.me)
            assert await _status(known) == b"200"
            lines = [await door.come() for _ in range(8)]
            for line in lines[:3]:
                assert await _rest(line) == b""
            assert len(door.porch._strangers) == 5
            for line in (known, lines[4]):
                line[1].write(HEALTH)
            assert await _status(lines[4]) == b"200"
            await _until(lambda: door.server._http.server_state.total_requests == 3)

    asyncio.run(go())


def test_who_is_known_by_now_is_no_stranger_for_whom_an_older_one_goes(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            door.porch.most_strangers = 5
            oldest = await door.come()
            await _until(lambda: door.porch._visitors)
            lines = []
            for _ in range(8):
                lines.append(await door.come(door.me))
                assert await _status(lines[-1]) == b"200"
            oldest[1].write(HEALTH)
            assert await _status(oldest) == b"200"

    asyncio.run(go())


def test_of_a_crowd_with_a_token_nobody_is_closed_as_a_stranger(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            door.porch.most_strangers = 24
            lines = [socket.create_connection(("127.0.0.1", door.port)) for _ in range(200)]
            for line in lines:  # all before the server can look at one: it is of this loop
                line.sendall(door.me)
            for line in lines:
                assert await _status(await asyncio.open_connection(sock=line)) == b"200"

    asyncio.run(go())


def test_nothing_of_who_has_left_waits_for_the_collector(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            line = await door.come(door.me)
            assert await _status(line) == b"200"
            (left,) = map(weakref.ref, door.visitors)
            line[1].close()
            await _until(lambda: left() is None)

    gc.disable()
    try:
        asyncio.run(go())
    finally:
        gc.enable()


def test_who_does_not_finish_tls_is_sent_away(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path, "own") as door:
            line = await door.come(b"\x16\x03\x01")
            await _until(lambda: door.porch._visitors)
            await door.seconds(visitor.HEAD_S + 1)
            assert await _rest(line) == b""

    asyncio.run(go())


def test_without_files_it_says_so_once_and_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(porch, "REST_S", 0.01)

    async def go() -> None:
        async with visited(tmp_path) as door:
            first = await door.come()
            await _until(lambda: door.porch._visitors)
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            ours = [socket.socket(type=socket.SOCK_STREAM) for _ in range(20)]
            spare = socket.socket()
            low = spare.fileno()
            spare.close()
            for one in ours:
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", door.port))
            resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
            try:
                await _until(lambda: "no connection can be taken" in caplog.text)
                await asyncio.sleep(0.1)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert caplog.text.count("no connection can be taken") == 1
            assert await _status(await door.come(HEALTH)) == b"200"
            for one in ours:
                one.close()
            first[1].close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(go())


def test_a_peer_that_was_switched_off_is_noticed(tmp_path: Path) -> None:
    async def go() -> None:
        async with visited(tmp_path) as door:
            await door.come()
            await _until(lambda: door.porch._visitors)
            (line,) = door.porch._visitors.values()
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60

    asyncio.run(go())
