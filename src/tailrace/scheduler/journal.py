"""The journal of inputs: one page per cycle, with a check number of what was decided.

It is for replay (the same inputs give the same decisions, event by event), never for recovery: the
tables are the truth. A server's first page carries the rows it was restored from.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import msgspec

from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import AnyDecision, Forget, Remember
from tailrace.scheduler.events import AnyEvent
from tailrace.scheduler.rows import LeaseRow, Restored


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


class Replay:
    """The same inputs through a scheduler again, which stands where the last step left it."""

    def __init__(self, pages: Iterable[bytes], *, check: bool = False) -> None:
        self.scheduler = Scheduler(check=check)
        self.began_us: int | None = None  # None: nothing was recorded
        self.next_us: int | None = None  # when the first event comes that was left out
        self.leases: dict[int, LeaseRow] = {}  # gone ones too, which a scheduler lets go of
        self._pages = pages
        self._check = check

    def steps(self, until_us: int | None = None) -> Iterator[Step]:
        """Up to this moment, and with all that happened in it."""
        for moment, of in self._moments():
            if self.began_us is None:
                self.began_us = moment
            if until_us is not None and moment > until_us:
                self.next_us = moment
                return
            if isinstance(of, Entry):
                yield self._step(of)
            else:
                self.scheduler = Scheduler(check=self._check)
                self.scheduler.restore(of, moment)
                self.leases = {row.lease: row for row in of.leases}

    def _moments(self) -> Iterator[tuple[int, Entry | Restored]]:
        for body in self._pages:
            page = decode_page(body)
            if page.restored is not None:
                yield page.restored_at, page.restored
            for entry in page.entries:
                yield entry.now, entry

    def _step(self, entry: Entry) -> Step:
        decisions = self.scheduler.handle(entry.event, entry.now)
        for decision in decisions:
            self._note(decision)
        return Step(entry.now, entry.event, decisions, check_of(decisions) == entry.check)

    def _note(self, decision: AnyDecision) -> None:
        if isinstance(decision, Remember) and isinstance(decision.row, LeaseRow):
            self.leases[decision.row.lease] = decision.row
        elif isinstance(decision, Forget):
            rows = self.leases.items()
            self.leases = {lease: row for lease, row in rows if row.bag != decision.bag}


def replay(pages: Iterable[bytes], *, check: bool = False) -> Iterator[Step]:
    """All of it."""
    return Replay(pages, check=check).steps()
