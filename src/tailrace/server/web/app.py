"""The HTTP side: the work call as a bare ASGI function, everything else by the table of routes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from tailrace.bag.policy import HostPolicy
from tailrace.errors import BadInput, StoreError
from tailrace.server.cycle import Fallen
from tailrace.server.errands import little
from tailrace.server.errands.told import Undone
from tailrace.server.files.retention import Retention
from tailrace.server.files.room import NoRoom
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.neighbours import Neighbours
from tailrace.server.people.principals import Kind, Principal, Who
from tailrace.server.people.tokens import Tokens
from tailrace.server.protocol import (
    KEYLESS,
    LEAST_KEY,
    PROTOCOL,
    REPORTED,
    WorkRequest,
    decode_request,
    encode,
)
from tailrace.server.sayings import Sayings
from tailrace.server.submission import UNUSABLE
from tailrace.server.tables.link import TROUBLES
from tailrace.server.web.allowance import Allowance
from tailrace.server.web.api import WORK, Api, Versions
from tailrace.server.web.gate import Gate
from tailrace.server.web.repeats import key_of
from tailrace.server.web.routes import Call, Plain, Refused, Route
from tailrace.server.web.turnstile import Full, Load
from tailrace.server.web.visitor import ENTERS, KNOWN
from tailrace.server.world import Unavailable, World

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
See = Callable[[bytes], None]

JSON: Headers = [(b"content-type", b"application/json")]
WHO_ARE_YOU: Headers = [*JSON, (b"www-authenticate", b"Bearer")]
NO_TOKEN = "wrong or missing token"
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
        quota: int | None = None,
    ) -> None:
        """`shares_account`: tasks run under the account of the server. `quota`: bytes that one
        user may have on its disk; None: any number."""
        self._world = world
        self._allowance = Allowance(world, quota)
        self._sayings = Sayings()
        tokens = Tokens(world.store)
        self._gate = Gate(token, tokens, world.clock.now)
        sweeper = sweeper or Sweeper(world, Retention())
        neighbours = Neighbours(tokens) if shares_account else None
        self._api = Api(world, tokens, sweeper, neighbours, self._gate.look)

    def stays_away_s(self, headers: Headers) -> int | None:
        """How long a worker with this head is told to stay away; 0: its call is let in. None: it is
        none of ours, takes nobody's place, and is answered as all are that show no token."""
        principal = self._gate.principal(headers)
        if principal is None or not WORK.who.admits(principal):
            return None
        turnstile, now = self._world.turnstile, self._world.loop.time()
        if turnstile.full(now):
            try:
                turnstile.refuse(now)
            except Full as full:
                return max(full.after_s, 1)
        turnstile.enter()
        return 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope.pop(ENTERS, False):
            self._world.turnstile.entered()
        principal = self._gate.principal(scope["headers"])
        if principal is not None:
            scope[KNOWN] = True
        try:
            if scope["path"] == WORK.path and scope["method"] == "POST":
                _admit(WORK, principal)
                assert principal is not None
                await self._work(principal, scope, receive, send)
            else:
                await self._route(principal, scope, receive, send)
        except Refused as error:
            await _answer(send, error.status, encode({"error": str(error)}), _beside(error))
        except OtherProtocol:
            await _answer(send, 409, encode(self._versions()), JSON)
        except Full as error:
            await _answer(send, 503, encode({"error": str(error)}), _again(error.after_s))

    def _check_token(self, scope: Scope) -> None:
        """Again: it may have been revoked, or have expired, since the call came."""
        if self._gate.principal(scope["headers"]) is None:
            raise Refused(401, NO_TOKEN)

    async def _work(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        self._world.check_room()
        with self._world.turnstile.load(str(principal), works=True) as load:
            body = await self._body(receive, WORK.most_body, load)
            self._world.check_room()  # others may have come while it was on its way
            self._check_token(scope)
            await self._see_to(principal, _request(body), scope, receive, send)

    def _versions(self) -> Versions:
        text = f"this server speaks protocol {PROTOCOL}"
        return Versions(text, PROTOCOL, self._api.worker_hash)

    async def _see_to(
        self,
        principal: Principal,
        request: WorkRequest,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Nothing is let go of to a token that was revoked while its call waited."""
        try:
            if principal.kind is Kind.POOL or not request.pool:
                request = self._of_pool(principal, request)
            why = self._world.refusal(request)
            if why:
                raise Refused(403, why)
            if request.says is not None and not self._world.knows_words(request):
                await self._check_words(request.says)
            reply = await self._world.call(
                request, lambda: self._ended(scope, receive), trusted=principal.trusted
            )
        except (Fallen, Unavailable):
            self._check_token(scope)
            text = encode({"error": self._world.trouble or "abandoned"})
            await _answer(send, 503, text, _again())
        else:
            self._check_token(scope)
            await _answer(send, 200, reply)

    async def _check_words(self, says: HostPolicy) -> None:
        """In words for whoever started that worker, which prints them."""
        try:
            await self._sayings.check(says)
        except BadInput as fault:
            raise Refused(422, "; ".join(filter(None, (fault.message, fault.remedy)))) from None

    def _ended(self, scope: Scope, receive: Receive) -> asyncio.Future[None]:
        """Done when the caller has gone, or his token: either way his offer is none any more."""
        return asyncio.ensure_future(_first(_hang_up(receive), self._gate.over(scope["headers"])))

    def _of_pool(self, principal: Principal, request: WorkRequest) -> WorkRequest:
        """A token of a pool speaks for machines of that pool and for no others."""
        pool = principal.name or LOCAL
        if request.pool not in ("", pool):
            raise Refused(403, f"this token is of pool {pool}, not of {request.pool}")
        if not self._world.is_of_pool(pool, request.host, request.lease):
            raise Refused(403, f"host {request.host} or its lease is not of pool {pool}")
        return request if request.pool else replace(request, pool=pool)

    async def _body(
        self, receive: Receive, most: int, load: Load, see: See = lambda part: None
    ) -> bytes:
        """`see` is shown each part as it comes."""
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "the connection ended before the body")
            part = message.get("body", b"")
            see(part)
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
        if route.who not in (
            Who.ANYONE,
            Who.ADMINS,
            Who.WATCHERS,
        ):  # who looks what is wrong is let in
            self._world.check_room()
        if route.stores:
            self._check_disk()
            await self._allowance.check(principal)
        with self._world.turnstile.load(str(principal)) as load:
            takes = route.raw or route.takes is not None
            hashed = hashlib.sha256()  # bit by bit: of many megabytes it would hold others up
            see: See = hashed.update if route.keyed else lambda part: None
            body = await self._body(receive, route.most_body, load, see) if takes else b""
            if takes and principal is not None:
                self._check_token(scope)
            if route.stores:
                self._allowance.took(principal, len(body))
            await self._follow(route, principal, path, scope, body, send, hashed.hexdigest())

    def _check_disk(self) -> None:
        """Before anything is read that could not be kept."""
        try:
            self._world.room.check()
        except NoRoom as error:
            raise Refused(507, str(error)) from None

    async def _follow(
        self,
        route: Route,
        principal: Principal | None,
        path: dict[str, Any],
        scope: Scope,
        body: bytes,
        send: Send,
        hash_: str,
    ) -> None:
        status, headers = 200, JSON
        try:
            call = Call(principal, path, _query(route, scope), _decoded(route, body))  # type: ignore[arg-type]
            if route.keyed:
                call = call._replace(key=key_of(call.who, scope["headers"], hash_))
            if route.grows:
                call = call._replace(sent=body)
            answer = await self._handled(route, call, scope)
        except (Fallen, Unavailable):
            status, headers = 503, _again()
            answer = {"error": self._world.trouble or "the server is ending"}
        except Undone as error:
            status, headers, answer = 503, _again(), {"error": str(error)}
        except (*TROUBLES, StoreError) as error:
            status, headers = 503, _again()
            answer = {"error": f"the store cannot be read or written: {error}"}
        except UNUSABLE as error:
            raise Refused(400, str(error)) from error
        if principal is not None and route.method == "GET":
            self._check_token(scope)
        if isinstance(answer, Plain):
            await _answer(send, status, answer.body, [(b"content-type", answer.kind.encode())])
        else:
            await _answer(send, status, encode(answer), headers)

    async def _handled(self, route: Route, call: Call, scope: Scope) -> Any:
        """Who waits for news waits no longer than his token holds."""
        if not route.waits:
            return await route.handler(call)
        handled = asyncio.ensure_future(route.handler(call))
        await _first(handled, self._gate.over(scope["headers"]))
        self._check_token(scope)
        return await handled


async def _first(*ends: asyncio.Future[Any]) -> None:
    """Until one of them is done; the others are given up, and so are all with whoever waits."""
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in ends:
            one.cancel()


def _request(body: bytes) -> WorkRequest:
    try:
        request = decode_request(body)
        deep = any(result.too_deep for result in request.results)
    except (msgspec.MsgspecError, RecursionError) as error:
        _check_protocol(body)
        raise Refused(400, str(error)) from None
    if request.protocol != PROTOCOL and (request.protocol != KEYLESS or request.leaves_nothing):
        raise OtherProtocol
    if request.protocol == PROTOCOL and len(request.key) < LEAST_KEY:
        raise Refused(400, f"a worker's key has at least {LEAST_KEY} characters")
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
        raise Refused(401, NO_TOKEN)
    if not route.who.admits(principal):
        raise Refused(403, _no_machine(principal) if route is WORK else _unfit(principal))


def _unfit(principal: Principal) -> str:
    return f"not for a token of kind {principal.kind}"


def _no_machine(principal: Principal) -> str:
    """The worker prints it: somebody has given it his own join text."""
    return (
        f"its token is of {principal.kind} {principal.name}, and machines need one of a pool: "
        "`tailrace tokens add NAME --pool` makes it"
    )


def _query(route: Route, scope: Scope) -> Any:
    if route.query is None:
        return None
    given = dict(parse_qsl(scope.get("query_string", b"").decode(), keep_blank_values=True))
    return msgspec.convert(given, route.query, strict=False)


def _decoded(route: Route, body: bytes) -> Any:
    if route.raw:
        return body
    if route.grows and len(body) > little.BODY:
        return None
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
