"""Results, page by page: read and encoded beside the loop, and one page at a time.

What tasks printed may be large, and threads share one interpreter: so that a reader costs others
little, a page is bounded by its bytes, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated

import msgspec

from tailrace.report.record import Result, Which
from tailrace.server.protocol import Count, encode
from tailrace.server.records import reading
from tailrace.server.records.reader import StoreReader
from tailrace.server.tables.link import Link
from tailrace.server.web.apart import apart
from tailrace.server.web.routes import Plain
from tailrace.server.world import World

PAGE = 500  # results in one answer
MOST_BYTES = 2 << 20  # and so many bytes, unless one alone is more


class Range(msgspec.Struct, frozen=True):
    first: Count = 0
    which: Which = Which.ALL
    last: Annotated[int, msgspec.Meta(ge=0, le=PAGE)] = 0  # so many from the end, instead


class ResultTold(msgspec.Struct, frozen=True):
    result: Result
    why: str  # in a few words, where something went wrong


class Pages:
    def __init__(self, world: World) -> None:
        self._world = world
        self._reading = asyncio.Lock()

    async def page(self, bag: int, asked: Range) -> Plain:
        now = self._world.clock.now()
        async with self._reading:
            body = await apart(self._world.folder, lambda link: _page(link, now, bag, asked))
        return Plain(body, "application/json")


def _page(link: Link, now: int, bag: int, asked: Range) -> bytes:
    """Of the last ones, those at the end are kept when all would be too much."""
    reader, told, size = StoreReader(link, now), list[bytes](), 0
    for result in _found(link, bag, asked):
        told.append(encode(ResultTold(result, reader.why(bag, result))))
        size += len(told[-1])
        if size >= MOST_BYTES:
            break
    return b"[" + b",".join(told[::-1] if asked.last else told) + b"]"


def _found(link: Link, bag: int, asked: Range) -> Iterable[Result]:
    if asked.last:
        return reversed(reading.last_results(link, bag, asked.last, asked.which))
    return reading.results(link, bag, asked.first, PAGE, asked.which)
