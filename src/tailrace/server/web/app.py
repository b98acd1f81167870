"""The HTTP side: the work call as a bare ASGI function, everything else by the table of routes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from tailrace.errors import StoreError, TailraceError
from tailrace.server.cycle import Fallen
from tailrace.server.files.retention import Retention
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.neighbours import Neighbours
from tailrace.server.people.principals import Kind, Principal, Who
from tailrace.server.people.tokens import Tokens
from tailrace.server.protocol import PROTOCOL, REPORTED, WorkRequest, decode_request, encode
from tailrace.server.tables.link import TROUBLES
from tailrace.server.web.api import WORK, Api, Versions
from tailrace.server.web.gate import Gate
from tailrace.server.web.repeats import key_of
from tailrace.server.web.routes import Call, Plain, Refused, Route
from tailrace.server.web.turnstile import Full, Load
from tailrace.server.world import Unavailable, World

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

JSON: Headers = [(b"content-type", b"application/json")]
WHO_ARE_YOU: Headers = [*JSON, (b"www-authenticate", b"Bearer")]
UNUSABLE = (
    TailraceError, ValueError, KeyError, ArithmeticError, RecursionError, msgspec.MsgspecError,
)  # fmt: skip
LOCAL = "local"  # the pool of a worker that names none


class AnyProtocol(msgspec.Struct, frozen=True):
    protocol: int


class OtherProtocol(Exception):
    """A worker of another version."""


class App:
    def __init__(
        self,
        world: World,
        token: str,
        *,
        shares_account: bool = False,
        sweeper: Sweeper | None = None,
    ) -> None:
        """`shares_account`: tasks run under the account of the server."""
        self._world = world
        tokens = Tokens(world.store)
        self._gate = Gate(token, tokens, world.clock.now)
        sweeper = sweeper or Sweeper(world, Retention())
        self._api = Api(world, tokens, sweeper, Neighbours(tokens) if shares_account else None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        principal = self._gate.principal(scope["headers"])
        try:
            if scope["path"] == WORK.path and scope["method"] == "POST":
                _admit(WORK, principal)
                assert principal is not None
                await self._work(principal, receive, send)
            else:
                await self._route(principal, scope, receive, send)
        except Refused as error:
            await _answer(send, error.status, encode({"error": str(error)}), _beside(error))
        except OtherProtocol:
            await _answer(send, 409, encode(self._versions()), JSON)
        except Full as error:
            await _answer(send, 503, encode({"error": str(error)}), _again(error.after_s))

    async def _work(self, principal: Principal, receive: Receive, send: Send) -> None:
        self._world.check_room()
        with self._world.turnstile.load() as load:
            body = await self._body(receive, WORK.most_body, load)
            self._world.check_room()  # others may have come while it was on its way
            await self._see_to(principal, _request(body), receive, send)

    def _versions(self) -> Versions:
        text = f"this server speaks protocol {PROTOCOL}"
        return Versions(text, PROTOCOL, self._api.worker_hash)

    async def _see_to(
        self, principal: Principal, request: WorkRequest, receive: Receive, send: Send
    ) -> None:
        try:
            if principal.kind is Kind.POOL or not request.pool:
                request = self._of_pool(principal, request)
            reply = await self._world.call(
                request, lambda: _hang_up(receive), trusted=principal.trusted
            )
        except (Fallen, Unavailable):
            text = encode({"error": self._world.trouble or "abandoned"})
            await _answer(send, 503, text, _again())
        else:
            await _answer(send, 200, reply)

    def _of_pool(self, principal: Principal, request: WorkRequest) -> WorkRequest:
        """A token of a pool speaks for machines of that pool and for no others."""
        pool = principal.name or LOCAL
        if request.pool not in ("", pool):
            raise Refused(403, f"this token is of pool {pool}, not of {request.pool}")
        if not self._world.is_of_pool(pool, request.host, request.lease):
            raise Refused(403, f"host {request.host} or its lease is not of pool {pool}")
        return request if request.pool else replace(request, pool=pool)

    async def _body(self, receive: Receive, most: int, load: Load) -> bytes:
        parts: list[bytes] = []
        while True:
            message = await receive()
            part = message.get("body", b"")
            load.add(len(part), self._world.loop.time())
            if load.bytes > most:
                raise Refused(413, f"the body is too large: at most {most:,} bytes")
            if not message.get("more_body"):
                return part if not parts else b"".join([*parts, part])
            parts.append(part)

    async def _route(
        self, principal: Principal | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        route, path = self._api.routes.find(scope["method"], scope["path"])
        _admit(route, principal)
        if route.who not in (Who.ANYONE, Who.ADMINS):  # who looks what is wrong is let in
            self._world.check_room()
        with self._world.turnstile.load() as load:
            takes = route.raw or route.takes is not None
            body = await self._body(receive, route.most_body, load) if takes else b""
            await self._follow(route, principal, path, scope, body, send)

    async def _follow(
        self,
        route: Route,
        principal: Principal | None,
        path: dict[str, Any],
        scope: Scope,
        body: bytes,
        send: Send,
    ) -> None:
        status, headers = 200, JSON
        try:
            call = Call(principal, path, _query(route, scope), _decoded(route, body))  # type: ignore[arg-type]
            if route.keyed:
                call = call._replace(key=key_of(call.who, scope["headers"], body))
            answer = await route.handler(call)
        except (Fallen, Unavailable):
            status, headers = 503, _again()
            answer = {"error": self._world.trouble or "the server is ending"}
        except (*TROUBLES, StoreError) as error:
            status, headers = 503, _again()
            answer = {"error": f"the store cannot be read or written: {error}"}
        except UNUSABLE as error:
            raise Refused(400, str(error)) from error
        if isinstance(answer, Plain):
            await _answer(send, status, answer.body, [(b"content-type", answer.kind.encode())])
        else:
            await _answer(send, status, encode(answer), headers)


def _request(body: bytes) -> WorkRequest:
    try:
        request = decode_request(body)
        deep = any(result.too_deep for result in request.results)
    except (msgspec.MsgspecError, RecursionError) as error:
        _check_protocol(body)
        raise Refused(400, str(error)) from None
    if request.protocol != PROTOCOL:
        raise OtherProtocol
    if deep:
        raise Refused(400, "the value of a result is nested too deep")
    if any(result.outcome not in REPORTED for result in request.results):
        raise Refused(400, "an outcome that no worker can report")
    return request


def _check_protocol(body: bytes) -> None:
    """A call that cannot be read may be of another version: all of them have this in common."""
    try:
        told = msgspec.json.decode(body, type=AnyProtocol)
    except (msgspec.MsgspecError, RecursionError):
        return
    if told.protocol != PROTOCOL:
        raise OtherProtocol


def _again(after_s: int = 1) -> Headers:
    return [*JSON, (b"retry-after", str(after_s).encode())]


def _beside(error: Refused) -> Headers:
    if error.allowed:
        return [*JSON, (b"allow", error.allowed.encode())]
    return {401: WHO_ARE_YOU, 503: _again()}.get(error.status, JSON)


def _admit(route: Route, principal: Principal | None) -> None:
    if route.who is Who.ANYONE:
        return
    if principal is None:
        raise Refused(401, "wrong or missing token")
    if not route.who.admits(principal):
        raise Refused(403, f"not for a token of kind {principal.kind}")


def _query(route: Route, scope: Scope) -> Any:
    if route.query is None:
        return None
    given = dict(parse_qsl(scope.get("query_string", b"").decode(), keep_blank_values=True))
    return msgspec.convert(given, route.query, strict=False)


def _decoded(route: Route, body: bytes) -> Any:
    if route.raw:
        return body
    return None if route.takes is None else msgspec.json.decode(body, type=route.takes)


def _hang_up(receive: Receive) -> asyncio.Future[None]:
    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return asyncio.ensure_future(watch())


async def _answer(send: Send, status: int, body: bytes, headers: Headers = JSON) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
