"""What calls have answered since an item of the feed: news and results in one answer."""

from __future__ import annotations

import msgspec

from tailrace.scheduler.rows import BagPhase
from tailrace.server.records import reading
from tailrace.server.records.reading import FeedItem
from tailrace.server.tables.link import Link

MOST_BYTES = 32 << 20  # of results in one answer, unless one alone is more
# A phase that a bag leaves only when somebody asks for it.
OVER = (BagPhase.CANCELLED, BagPhase.STOPPED, BagPhase.BRAKED, BagPhase.PAUSED)


class CallAnswer(msgspec.Struct, frozen=True):
    task: int
    outcome: str
    report: msgspec.Raw  # as the worker told it: what was returned stays pickled


class Answered(msgspec.Struct, frozen=True):
    after: int  # ask for what comes after this item
    answers: list[CallAnswer] = []
    over: str = ""  # why there will be no more than is known now
    more: bool = False  # known now, and too much for this answer


class Settled(msgspec.Struct, frozen=True):
    tasks: list[tuple[int, str]]


class Phase(msgspec.Struct, frozen=True):
    phase: str
    why: str = ""

    @property
    def over(self) -> str:
        return self.why or f"its bag is {self.phase}" if self.phase in OVER else ""


read_settled = msgspec.json.Decoder(Settled).decode
read_phase = msgspec.json.Decoder(Phase).decode


def answered(link: Link, bag: int, after: int, items: list[FeedItem]) -> Answered:
    found: list[CallAnswer] = []
    over, size = "", 0
    for item in items:
        if size > MOST_BYTES:
            return Answered(after, found, over, more=True)
        if item.kind == "phase":
            over = read_phase(item.body).over
        elif item.kind == "settled":
            indices = [index for index, _ in read_settled(item.body).tasks]
            for index, outcome, body in reading.reports(link, bag, indices):
                found.append(CallAnswer(index, outcome, msgspec.Raw(body or b"{}")))
                size += len(body or b"")
        after = item.n
    return Answered(after, found, over)
