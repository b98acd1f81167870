"""What commands and routes ask of runs: one interface with two doors, a store here, or a server's.

`StoreReader` answers from the tables. `cli/servers/remote.py` has the other, which asks a server,
whose routes answer by a `StoreReader` again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from tailrace.bag import strategies
from tailrace.bag.outcome import Outcome
from tailrace.report.failures import FailureGroup
from tailrace.report.record import Result, Which
from tailrace.scheduler.events import Change
from tailrace.scheduler.rows import HostRow
from tailrace.server.protocol import WorkResult
from tailrace.server.records import attempts, bills, observing, reading
from tailrace.server.records.attempts import AttemptFacts
from tailrace.server.records.observing import Observed
from tailrace.server.records.reading import BagFacts, FeedItem, HostFacts
from tailrace.server.records.recording import Brief
from tailrace.server.records.wrong import went_wrong
from tailrace.server.tables.hostwork import HostWork, host_work
from tailrace.server.tables.link import Link
from tailrace.server.tables.lock import Owner

if TYPE_CHECKING:
    from tailrace.bag.additions import Addition
    from tailrace.server.enlarging import Enlarged
    from tailrace.server.policysetting import PolicyChange, PolicyTold, PolicyTrial


class Details(msgspec.Struct, frozen=True):
    """What is told of one bag beside its facts."""

    folder: str
    strategies: str  # where they are not the usual ones
    budget: dict[str, int]  # micro-units by unit
    spent: dict[str, int]
    unpublished: list[int]  # tasks whose outputs are not at their targets yet
    in_the_way: list[str] = []  # what keeps them from there, as far as a server has tried
    calls: bool = False  # its tasks are calls of a function


Report = tuple[int, bytes]  # of a task


class Failed(msgspec.Struct, frozen=True):
    """A task that failed for good, and what the worker said of its last attempt."""

    task: int
    outcome: Outcome
    told: WorkResult | None


class TaskFacts(msgspec.Struct, frozen=True):
    text: str  # its command, to be shown
    attempts: list[AttemptFacts]
    costs: list[dict[str, float]]  # of each attempt, by currency


class HostTold(msgspec.Struct, frozen=True):
    host: HostFacts
    work: HostWork  # for the caller
    present: bool = False  # now, as only a server knows
    of_all: bool = True  # the row's own sums are there: of everybody's work, so not for everybody


#: What a machine is, and whether it may work; not what came of anybody's tasks there.
MACHINE = (
    "host", "pool", "kind", "capacity", "lease", "excluded_until_us", "why", "speed", "owner",
    "cpu", "says", "benchmark",
)  # fmt: skip


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server, without its token."""

    address: str
    pid: int | None = None  # where it runs on this machine


class Reader(Protocol):
    @property
    def owner(self) -> Owner | None:
        """The same, and how to call it."""

    @property
    def server(self) -> About | None:
        """Who runs on it now."""

    @property
    def now_us(self) -> int | None:
        """The time while a server runs; without one nothing moves."""

    def again(self) -> Reader:
        """As it stands now: a server may have ended."""

    def names(self) -> list[tuple[int, str]]: ...

    def bags(self) -> list[BagFacts]: ...

    def bag(self, number: int) -> BagFacts: ...

    def details(self, number: int) -> Details: ...

    def failures(self, number: int) -> list[FailureGroup]: ...

    def failed(self, number: int) -> list[Failed]: ...

    def find(self, number: int, text: str) -> int:
        """The number of a task named by number or values."""

    def task(self, number: int, index: int) -> TaskFacts: ...

    def results(self, number: int, which: Which = Which.ALL) -> Iterable[Result]:
        """In the order of their tasks; read as far as they are taken."""

    def last_results(self, number: int, most: int, which: Which = Which.ALL) -> list[Result]: ...

    def reports(self, number: int, tasks: list[int]) -> Iterator[Report]:
        """Of those that have a result, what the worker told of it; in any order."""

    def me(self) -> str:
        """The owner of the caller's own bags; '': whoever owns the folder."""

    def why(self, number: int, result: Result) -> str:
        """What the worker noted; of a task that failed, else the last line of its stderr."""

    def hosts(self) -> list[HostTold]: ...

    def explain(self, subject: str) -> list[str]: ...

    def events(self, number: int, after: int, wait_s: float) -> list[FeedItem]: ...

    def change(self, number: int, what: Change, tasks: tuple[int, ...] = (), why: str = "") -> bool:
        """True when a server took it, and acts on it now."""

    def add(self, number: int, asked: Addition) -> tuple[Enlarged, bool]:
        """More tasks for a bag; and whether a server took them, as above."""

    def observed(self, number: int) -> Observed:
        """What was seen of its attempts."""

    def policy(self, number: int) -> PolicyTold: ...

    def try_policy(self, number: int) -> PolicyTrial:
        """BadInput: no server runs, so that no host is there."""

    def set_policy(self, number: int, asked: PolicyChange) -> tuple[PolicyTold, bool]:
        """And whether a server took it, as above."""


class StoreReader:
    """The part of a reader that the tables answer."""

    def __init__(self, link: Link, now_us: int | None) -> None:
        self.link = link
        self._now_us = now_us

    @property
    def now_us(self) -> int | None:
        return self._now_us

    def names(self) -> list[tuple[int, str]]:
        return self.link.execute("SELECT bag, name FROM bags ORDER BY bag").fetchall()

    def bags(self) -> list[BagFacts]:
        return reading.bags(self.link)

    def bag(self, number: int) -> BagFacts:
        return reading.bag(self.link, number)

    def details(self, number: int) -> Details:
        terms = reading.bag_row(self.link, number).terms
        spec = reading.content(self.link, number).spec
        return Details(
            spec.folder,
            strategies.unusual(terms),
            terms.budget,
            bills.spent(self.link, number, self.now_us),
            reading.unpublished(self.link, number),
            calls=spec.function is not None,
        )

    def observed(self, number: int) -> Observed:
        return observing.observed(self.link, number, self.now_us)

    def policy(self, number: int) -> PolicyTold:
        from tailrace.server.policysetting import told

        return told(number, reading.bag_row(self.link, number).terms)

    def failures(self, number: int) -> list[FailureGroup]:
        return went_wrong(self.link, number)

    def failed(self, number: int) -> list[Failed]:
        return [Failed(*row) for row in reading.failed(self.link, number)]

    def find(self, number: int, text: str) -> int:
        return reading.content(self.link, number).find(text)

    def task(self, number: int, index: int) -> TaskFacts:
        now = self.now_us or reading.last_moment(self.link, number)
        shares = bills.Shares(self.link, number, now)
        found = list(attempts.of_task(self.link, number, index))
        costs = [
            shares.of(a.lease, a.result.run_us if a.result else None, a.outcome, a.accepted)
            for a in found
        ]
        return TaskFacts(reading.content(self.link, number).text(index), found, costs)

    def results(self, number: int, which: Which = Which.ALL) -> Iterable[Result]:
        return reading.results(self.link, number, which=which)

    def last_results(self, number: int, most: int, which: Which = Which.ALL) -> list[Result]:
        return reading.last_results(self.link, number, most, which)

    def reports(self, number: int, tasks: list[int]) -> Iterator[Report]:
        for index, _, body in reading.reports(self.link, number, tasks):
            yield index, body or b"{}"

    def me(self) -> str:
        return ""

    def why(self, number: int, result: Result) -> str:
        """What the worker noted; of a task that failed, else the last line of its stderr."""
        if result.outcome is None:
            return ""
        query = (
            "SELECT a.body FROM results r JOIN attempts a ON a.attempt = r.attempt"
            " WHERE r.bag = ? AND r.idx = ?"
        )
        found = self.link.execute(query, (number, result.task)).fetchone()
        if found is None or not found[0]:
            return ""
        told = msgspec.json.decode(found[0], type=Brief)
        return told.error if result.outcome is Outcome.SUCCEEDED else told.text()

    def hosts(self, of: str | None = None) -> list[HostTold]:
        """What each did for the bags `of` one owner, or for all."""
        work = host_work(self.link, of)
        hosts = reading.hosts(self.link)
        if of is not None:
            hosts = [replace(host, row=_machine(host.row)) for host in hosts]
        return [
            HostTold(host, work.get(host.row.host, HostWork()), of_all=of is None) for host in hosts
        ]


def _machine(row: HostRow) -> HostRow:
    return HostRow(**{name: getattr(row, name) for name in MACHINE})
