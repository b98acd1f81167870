"""A server without a socket, spoken to by whole HTTP calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailrace.pools.terms import Pool
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.server.clock import Clock
from tailrace.server.web.app import App
from tailrace.server.world import Parts, World

OWNER = "secret"
KEY = "k" * 32  # of every host, where a test tells them not apart
WORK = {
    "protocol": 2, "key": KEY, "host": "h", "session": 1, "pool": "lab", "kind": "k", "held": [],
    "capacity": {"cores": 1000}, "results": [], "wait_s": 0,
}  # fmt: skip
SPEC = {"name": "b", "folder": "/tmp", "command": "true", "axes": []}


class Ahead(Clock):
    """Of the real one, by so much."""

    ahead_us = 0

    def now(self) -> int:
        return super().now() + self.ahead_us


class Spoken:
    def __init__(
        self, folder: Path, store: str = "", quota: int | None = None, parts: Parts | None = None
    ) -> None:
        self.loop = asyncio.new_event_loop()
        runs, pools = folder / ".tailrace", (Pool("lab"),)
        self.world = World(runs, pools, check=True, store=store, parts=parts)
        self.app = App(self.world, OWNER, quota=quota)
        self._seq = 0
        self.head: dict[bytes, bytes] = {}  # of the newest answer
        self.loop.run_until_complete(self._begin())

    async def _begin(self) -> None:
        self.world.begin()

    def token(self, kind: str, name: str) -> str:
        root = {"kind": kind, "name": name}
        return str(self.call("POST", "/api/v1/tokens", root)[1]["token"])

    def call(
        self, method: str, path: str, body: Any = None, token: str = OWNER, **more: str
    ) -> tuple[int, Any]:
        return self.loop.run_until_complete(self.calling(method, path, body, token, **more))

    async def calling(
        self, method: str, path: str, body: Any = None, token: str = OWNER, **more: str
    ) -> tuple[int, Any]:
        """`more`: headers."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        messages = [{"type": "http.request", "body": sent, "more_body": False}]
        told: list[Any] = []

        async def receive() -> Any:
            return messages.pop() if messages else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            told.append(message)

        path, _, query = path.partition("?")
        headers = [(b"authorization", f"Bearer {token}".encode())]
        more = {"tailrace_host_key": KEY, **more}
        headers += [(name.replace("_", "-").encode(), more[name].encode()) for name in more]
        scope = {"type": "http", "method": method, "path": path, "headers": headers,
                 "query_string": query.encode()}  # fmt: skip
        async with asyncio.timeout(60):
            await self.app(scope, receive, send)
        data = told[1]["body"]
        self.head = dict(told[0]["headers"])
        is_json = self.head[b"content-type"] == b"application/json"
        return told[0]["status"], json.loads(data) if is_json else data

    def work(self, token: str = OWNER, **said: Any) -> tuple[int, Any]:
        """A call of a worker; the newest it has made."""
        self._seq += 1
        return self.call("POST", "/api/v1/work", {**WORK, "seq": self._seq, **said}, token)

    def submit(self, command: str, token: str = OWNER, **more: Any) -> int:
        spec = {**SPEC, "command": command, **more}
        status, told = self.call("POST", "/api/v1/bags", {"spec": spec}, token)
        assert status == 200, told
        return int(told["bag"])

    def close(self) -> None:
        self.world.close()
        self.loop.close()


def end_leases(server: Spoken) -> None:
    """No driver does it here."""

    async def end() -> None:
        for lease in list(server.world.state.leases):
            await server.world.tell(LeaseChanged(lease, LeaseState.GONE))

    server.loop.run_until_complete(end())


@contextmanager
def spoken(
    folder: Path, store: str = "", quota: int | None = None, parts: Parts | None = None
) -> Iterator[Spoken]:
    made = Spoken(folder, store, quota, parts)
    try:
        yield made
    finally:
        made.close()
