"""The routes of blobs: put, read, ask which are missing, and collect those nobody holds."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec.structs import replace

from tailrace.errors import BadInput
from tailrace.server.files.collecting import Collected, collect
from tailrace.server.files.retention import Going, of_no_use
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.custody import Custody, Unsaid, Whose, Withheld
from tailrace.server.people.principals import Who
from tailrace.server.protocol import Count
from tailrace.server.records import reading
from tailrace.server.web.apart import apart
from tailrace.server.web.routes import Call, Plain, Refused, Route
from tailrace.server.world import World
from tailrace.worker.blobs import CHUNK, Broken, is_digest

BLOB = "/api/v1/blobs/{hash}"
BYTES = "application/octet-stream"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MOST_ASKED = 10_000
T = TypeVar("T")


Digest = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]


class Asked(msgspec.Struct, frozen=True):
    hashes: Annotated[list[Digest], msgspec.Meta(max_length=MOST_ASKED)]
    attempt: Count | None = None


class Keep(msgspec.Struct, frozen=True):
    keep_s: Count
    dry_run: bool = False  # tell what would go, and remove nothing


class Kept(msgspec.Struct, frozen=True):
    hash: str
    size: int


class Storeroom:
    def __init__(self, world: World, sweeper: Sweeper) -> None:
        self._world = world
        self._sweeper = sweeper
        self._blobs = world.blobs
        self._custody = Custody(world)

    def routes(self) -> tuple[Route, ...]:
        some = Who.TOKENS
        return (
            Route("PUT", BLOB, some, "Put a blob: its bytes, under their SHA-256.", self._put, Kept,
                  query=Whose, most_body=CHUNK, raw=True, stores=True),
            Route("GET", BLOB, some, "Its bytes.", self._get, query=Whose, kind=BYTES),
            Route("HEAD", BLOB, some, "Whether it is there.", self._get, query=Whose, kind=BYTES),
            Route("POST", "/api/v1/blobs/missing", some, "Which of these are not here.",
                  self._missing, list[str], Asked, most_body=2 * CHUNK),
            Route("POST", "/api/v1/gc", Who.ADMINS,
                  "Remove blobs that are held no longer, and bags past their time.",
                  self._collect, Collected, Keep),
        )  # fmt: skip

    async def _put(self, call: Call) -> Kept:
        """Answered when it is on disk."""
        with _refusing():
            holder, name = self._custody.putting(call.who, call.query), call.path["hash"]
        try:
            await _elsewhere(self._blobs.put, holder, name, call.body)
        except Broken as error:
            raise BadInput(str(error), remedy="Was it cut short, or changed?") from None
        return Kept(name, len(call.body))

    async def _get(self, call: Call) -> Plain:
        name = call.path["hash"]
        with _refusing():
            holder = self._custody.reading(call.who, call.query, name)
        return Plain(await _elsewhere(self._blobs.read, holder, name), BYTES)

    async def _missing(self, call: Call) -> list[str]:
        asked = call.body
        if not all(map(is_digest, asked.hashes)):
            raise BadInput("a blob is named by 64 hexadecimal digits")
        with _refusing():
            holder = self._custody.putting(call.who, Whose(asked.attempt))
        return await _elsewhere(self._blobs.missing, holder, asked.hashes)

    async def _collect(self, call: Call) -> Collected:
        asked = call.body
        past = self._sweeper.going() if asked.dry_run else await self._sweeper.sweep()
        found = await self._held_no_longer(asked, past)
        pages = await self._sweeper.trim(dry=asked.dry_run)
        hosts = 0 if asked.dry_run else await self._sweeper.forget_hosts()
        return replace(found, removed=past, pages=pages, hosts=hosts)

    async def _held_no_longer(self, asked: Keep, past: list[Going]) -> Collected:
        """While this goes on no bag takes over results: the blobs of these might just go."""
        world = self._world
        until = world.clock.now() - asked.keep_s * 1_000_000
        async with self._sweeper.forgetting:
            over = await apart(
                world.folder, lambda link: of_no_use(link, reading.ended_before(link, until))
            )
            ended = {*over, *(one.bag for one in past)}
            known = world.store.next_bag()
            return await _elsewhere(
                collect, self._blobs, ended, known, asked.keep_s, dry=asked.dry_run
            )


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except Withheld as error:
        raise Refused(404, str(error)) from None
    except Unsaid as error:
        raise Refused(403, str(error)) from None


async def _elsewhere(do: Callable[..., T], *values: Any, **named: Any) -> T:
    """A disk may be slow: no work call waits for it."""
    try:
        return await asyncio.to_thread(do, *values, **named)
    except FileNotFoundError:
        raise Refused(404, "there is no such blob, or it is not yours") from None
    except OSError as error:
        status = 507 if error.errno in NO_ROOM else 503
        raise Refused(status, f"the server's disk: {error.strerror}") from None
