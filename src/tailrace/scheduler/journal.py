"""The journal of inputs: one page per cycle, with a check number of what was decided.

It is for replay (the same inputs give the same decisions, event by event), never for recovery: the
tables are the truth. A server's first page carries the rows it was restored from.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import msgspec

from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import AnyDecision
from tailrace.scheduler.events import AnyEvent
from tailrace.scheduler.rows import Restored


class Entry(msgspec.Struct, array_like=True):
    now: int
    event: AnyEvent
    check: int  # of the decisions


class Page(msgspec.Struct):
    restored: Restored | None = None
    restored_at: int = 0
    entries: list[Entry] = []

    def enter(self, now: int, event: AnyEvent, decisions: list[AnyDecision]) -> None:
        self.entries.append(Entry(now, event, check_of(decisions)))


_encoder = msgspec.msgpack.Encoder()
encode_page = _encoder.encode
decode_page = msgspec.msgpack.Decoder(Page).decode


def check_of(decisions: list[AnyDecision]) -> int:
    return zlib.crc32(_encoder.encode(decisions)) if decisions else 0


class Step(msgspec.Struct, frozen=True):
    """One event replayed; `same` says whether the decisions were those of the run."""

    now: int
    event: AnyEvent
    decisions: list[AnyDecision]
    same: bool


def replay(pages: Iterable[bytes], *, check: bool = False) -> Iterator[Step]:
    scheduler = Scheduler(check=check)
    for body in pages:
        page = decode_page(body)
        if page.restored is not None:
            scheduler = Scheduler(check=check)
            scheduler.restore(page.restored, page.restored_at)
        for entry in page.entries:
            decisions = scheduler.handle(entry.event, entry.now)
            yield Step(entry.now, entry.event, decisions, check_of(decisions) == entry.check)
