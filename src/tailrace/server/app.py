"""The HTTP side: the work call as a bare ASGI function, everything else as small JSON routes."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from tailrace.errors import BadInput
from tailrace.scheduler.events import BagChanged, Change
from tailrace.server import reading
from tailrace.server.cycle import Fallen
from tailrace.server.protocol import PROTOCOL, REPORTED, decode_request, encode
from tailrace.server.world import Unavailable, World

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_BODY = 64 * 1024 * 1024
JSON = [(b"content-type", b"application/json")]


class App:
    def __init__(self, world: World, token: str) -> None:
        self._world = world
        self._secret = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if not self._admits(scope):
            await _answer(send, 401, b'{"error":"wrong or missing token"}')
        elif scope["path"] == "/api/v1/work" and scope["method"] == "POST":
            await self._work(receive, send)
        else:
            await self._route(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"authorization":
                return hmac.compare_digest(value, self._secret)
        return False

    async def _work(self, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, b'{"error":"the body is too large"}')
            return
        try:
            request = decode_request(body)
        except msgspec.MsgspecError as error:
            await _answer(send, 400, encode({"error": str(error)}))
            return
        if any(result.outcome not in REPORTED for result in request.results):
            await _answer(send, 400, encode({"error": "an outcome that no worker can report"}))
            return
        if request.protocol != PROTOCOL:
            await _answer(send, 409, encode({"error": f"this server speaks protocol {PROTOCOL}"}))
            return
        try:
            reply = await self._world.call(request, lambda: _hang_up(receive))
        except Unavailable:
            text = encode({"error": self._world.trouble or "abandoned"})
            await _answer(send, 503, text, [*JSON, (b"retry-after", b"1")])
        else:
            await _answer(send, 200, reply)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        words = scope["path"].strip("/").split("/")
        query = _query(scope)
        try:
            status, body = await self._dispatch(scope["method"], words, query, receive)
        except (BadInput, ValueError, KeyError, msgspec.MsgspecError) as error:
            status, body = 400, {"error": str(error)}
        except (Fallen, Unavailable):
            status, body = 503, {"error": self._world.trouble or "the server is ending"}
        await _answer(send, status, encode(body))

    async def _dispatch(
        self, method: str, words: list[str], query: dict[str, str], receive: Receive
    ) -> tuple[int, Any]:
        store = self._world.store.link
        match method, *words:
            case "GET", "api", "v1", "bags":
                return 200, reading.bags(store)
            case "GET", "api", "v1", "bags", bag:
                return 200, reading.bag(store, int(bag))
            case "GET", "api", "v1", "bags", bag, "events":
                after, wait = int(query.get("after", 0)), float(query.get("wait", 0))
                return 200, await self._feed(int(bag), after, min(wait, 60.0))
            case "POST", "api", "v1", "bags", bag, "change":
                body = await _body(receive) or b""
                asked = msgspec.json.decode(body, type=ChangeRequest)
                return 200, await self._change(int(bag), asked)
            case "GET", "api", "v1", "explain":
                return 200, self._world.explain(query["subject"])
        return 404, {"error": f"no such thing: {method} /{'/'.join(words)}"}

    async def _feed(self, bag: int, after: int, wait_s: float) -> list[reading.FeedItem]:
        """News of other bags do not end the wait."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        items = reading.feed(self._world.store.link, bag, after)
        while not items and loop.time() < until and self._world.available:
            await self._world.news(until - loop.time())
            items = reading.feed(self._world.store.link, bag, after)
        return items

    async def _change(self, bag: int, asked: ChangeRequest) -> dict[str, Any]:
        """Answered when it is committed."""
        if not reading.has_bag(self._world.store.link, bag):
            raise BadInput(f"there is no bag {bag}")
        await self._world.tell(BagChanged(bag, asked.change, tuple(asked.tasks), asked.why))
        return {"bag": bag, "change": asked.change}


class ChangeRequest(msgspec.Struct, frozen=True):
    change: Change
    tasks: list[int] = []
    why: str = ""


async def _body(receive: Receive) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > MOST_BODY:
            return None
        if not message.get("more_body"):
            return part if not parts else b"".join([*parts, part])
        parts.append(part)


def _hang_up(receive: Receive) -> asyncio.Future[None]:
    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return asyncio.ensure_future(watch())


def _query(scope: Scope) -> dict[str, str]:
    from urllib.parse import parse_qsl

    return dict(parse_qsl(scope.get("query_string", b"").decode()))


async def _answer(
    send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] = JSON
) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
