"""When no server ran: between the last thing one wrote into the journal and the start of the next.

Machines of a server that dies end with it, and nothing comes on; so none of that time belongs to a
run, and no such machine has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tailrace.scheduler.journal import decode_page
from tailrace.server.records import reading
from tailrace.server.tables.link import Link


class Span(NamedTuple):
    from_us: int
    to_us: int


class Head(msgspec.Struct):
    """Of a page, without its entries, which are many."""

    restored: msgspec.Raw = msgspec.Raw(b"\xc0")
    restored_at: int = 0

    @property
    def begins(self) -> bool:
        return bytes(self.restored) != b"\xc0"


_head = msgspec.msgpack.Decoder(Head).decode


def outages(link: Link) -> Iterator[Span]:
    before: bytes | None = None
    for body in reading.journal(link):
        head = _head(body)
        if head.begins and before is not None:
            last_us = _last_us(before)
            if last_us:
                yield Span(last_us, head.restored_at)
        before = body


def _last_us(body: bytes) -> int:
    page = decode_page(body)
    return page.entries[-1].now if page.entries else page.restored_at


def together_us(spans: Iterable[Span]) -> int:
    """How long they last; what two of them share counts once."""
    total, until = 0, 0
    for span in sorted(spans):
        begins = max(span.from_us, until)
        total += max(span.to_us - begins, 0)
        until = max(until, span.to_us)
    return total
