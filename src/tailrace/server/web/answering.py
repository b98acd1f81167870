"""What calls have answered since an item of the feed: news and results in one answer."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.scheduler.rows import BagPhase
from tailrace.server.records import reading
from tailrace.server.records.reading import FeedItem
from tailrace.server.tables.link import Link

MOST_BYTES = 32 << 20  # of results in one answer, unless one alone is more
AT_ONCE = 20  # read: each may be as large as a call to the server
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
    skip: int = 0  # with it: so many tasks of the item after this one are told already


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


def answered(link: Link, bag: int, after: int, items: list[FeedItem], skip: int = 0) -> Answered:
    """`skip`: so many tasks of the first item were told already. One commit may settle calls of
    many hosts: so an answer may end within an item, too."""
    found: list[CallAnswer] = []
    over, room = "", MOST_BYTES
    for item in items:
        if item.kind == "phase":
            over = read_phase(item.body).over
        elif item.kind == "settled":
            tasks = sorted({index for index, _ in read_settled(item.body).tasks})[skip:]
            for told, answer in enumerate(_reported(link, bag, tasks)):
                size = 0 if answer is None else len(bytes(answer.report))
                if found and size > room:
                    return Answered(after, found, over, more=True, skip=skip + told)
                if answer is not None:
                    found.append(answer)
                    room -= size
        after, skip = item.n, 0
    return Answered(after, found, over)


def _reported(link: Link, bag: int, tasks: list[int]) -> Iterator[CallAnswer | None]:
    """In this order, and read a few at a time; None: it is made again, and has no result now."""
    for at in range(0, len(tasks), AT_ONCE):
        some = tasks[at : at + AT_ONCE]
        rows = {index: (outcome, body) for index, outcome, body in reading.reports(link, bag, some)}
        for index in some:
            outcome, body = rows.get(index, (None, None))
            told = msgspec.Raw(body or b"{}")
            yield None if outcome is None else CallAnswer(index, outcome, told)
