"""The reader's other door: a server elsewhere, asked by its API."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from tailrace.cli.servers.asking import Asked
from tailrace.report.failures import FailureGroup
from tailrace.report.record import Result, Which
from tailrace.scheduler.events import Change
from tailrace.server.records.observing import Observed
from tailrace.server.records.reader import About, Details, Failed, HostTold, Report, TaskFacts
from tailrace.server.records.reading import BagFacts, FeedItem
from tailrace.server.tables.lock import Owner
from tailrace.server.web.answering import Answered
from tailrace.server.web.pages import ResultTold

if TYPE_CHECKING:
    from tailrace.bag.additions import Addition
    from tailrace.server.enlarging import Enlarged
    from tailrace.server.policysetting import PolicyChange, PolicyTold, PolicyTrial


class Me(msgspec.Struct, frozen=True):
    """Whom the server takes us for."""

    name: str


class Remote:
    def __init__(self, owner: Owner) -> None:
        self._asked = Asked(owner)
        self.owner = owner
        self._why: dict[tuple[int, int], str] = {}

    @property
    def server(self) -> About | None:
        return About(self.owner.address)

    @property
    def now_us(self) -> int | None:
        return time.time_ns() // 1000

    def again(self) -> Remote:
        return self

    def names(self) -> list[tuple[int, str]]:
        return [(facts.bag, facts.name) for facts in self.bags()]

    def bags(self) -> list[BagFacts]:
        found: list[BagFacts] = self._asked.get("bags", list[BagFacts])
        return found

    def bag(self, number: int) -> BagFacts:
        facts: BagFacts = self._asked.get(f"bags/{number}", BagFacts)
        return facts

    def details(self, number: int) -> Details:
        return self._asked.details(number)

    def failures(self, number: int) -> list[FailureGroup]:
        found: list[FailureGroup] = self._asked.get(f"bags/{number}/failures", list[FailureGroup])
        return found

    def failed(self, number: int) -> list[Failed]:
        found: list[Failed] = self._asked.get(f"bags/{number}/failed", list[Failed])
        return found

    def find(self, number: int, text: str) -> int:
        index: int = self._asked.get(f"bags/{number}/find?text={quote(text)}", int)
        return index

    def task(self, number: int, index: int) -> TaskFacts:
        facts: TaskFacts = self._asked.get(f"bags/{number}/tasks/{index}", TaskFacts)
        return facts

    def results(self, number: int, which: Which = Which.ALL) -> Iterator[Result]:
        """Page by page: a bag may have millions. Large ones come few at a time; none is the end."""
        page = self._page(number, f"first=0&which={which}")
        while page:
            yield from page
            page = self._page(number, f"first={page[-1].task + 1}&which={which}")

    def last_results(self, number: int, most: int, which: Which = Which.ALL) -> list[Result]:
        return self._page(number, f"last={most}&which={which}") if most else []

    def _page(self, number: int, which: str) -> list[Result]:
        page: list[ResultTold] = self._asked.get(f"bags/{number}/results?{which}", list[ResultTold])
        self._why |= {(number, told.result.task): told.why for told in page if told.why}
        return [told.result for told in page]

    def reports(self, number: int, tasks: list[int]) -> Iterator[Report]:
        """As its feed told them. Of a task that was done once more the newest is told each time."""
        told, wanted = Answered(0), set(tasks)
        while wanted:
            since = f"after={told.after}&skip={told.skip}&wait=0"
            before = told
            told = self._asked.get(f"bags/{number}/answers?{since}", Answered)
            for answer in told.answers:
                if answer.task in wanted:
                    wanted.discard(answer.task)
                    yield answer.task, bytes(answer.report)
            if (told.after, told.skip) == (before.after, before.skip):
                return

    def me(self) -> str:
        me: Me = self._asked.get("me", Me)
        return me.name

    def why(self, number: int, result: Result) -> str:
        return self._why.get((number, result.task), "")

    def hosts(self) -> list[HostTold]:
        return self._asked.hosts()

    def explain(self, subject: str) -> list[str]:
        return self._asked.explain(subject)

    def events(self, number: int, after: int, wait_s: float) -> list[FeedItem]:
        return self._asked.events(number, after, wait_s)

    def change(self, number: int, what: Change, tasks: tuple[int, ...] = (), why: str = "") -> bool:
        self._asked.change(number, what, tasks, why)
        return True

    def add(self, number: int, asked: Addition) -> tuple[Enlarged, bool]:
        return self._asked.add(number, asked), True

    def observed(self, number: int) -> Observed:
        """Page by page; none is the end."""
        found: Observed = self._asked.get(f"bags/{number}/attempts", Observed)
        some = list(found.attempts)
        while some:
            path = f"bags/{number}/attempts?after={some[-1].attempt}"
            more: Observed = self._asked.get(path, Observed)
            if not more.attempts:
                break
            some += more.attempts
        return msgspec.structs.replace(found, attempts=some)

    def policy(self, number: int) -> PolicyTold:
        return self._asked.policy(number)

    def try_policy(self, number: int) -> PolicyTrial:
        return self._asked.try_policy(number)

    def set_policy(self, number: int, asked: PolicyChange) -> tuple[PolicyTold, bool]:
        return self._asked.set_policy(number, asked), True
