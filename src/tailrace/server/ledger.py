"""From decisions to rows: everything a cycle decided, as a batch for the store."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import (
    Acquire,
    AnyDecision,
    Assign,
    Close,
    Drop,
    Exclude,
    Forget,
    ForgetHost,
    PauseBag,
    Release,
    Remember,
    Renew,
    Reopen,
    Replan,
    Settle,
    StopBag,
    TakenAway,
    Unmatched,
)
from tailrace.scheduler.events import AnyEvent, Ended, PlanReady
from tailrace.scheduler.journal import Page, encode_page
from tailrace.scheduler.rows import BagRow, HostRow, LeaseRow, TaskRow, UseRow
from tailrace.scheduler.state import State
from tailrace.server import plans
from tailrace.server.batch import Batch, New
from tailrace.server.moving import Moving
from tailrace.server.protocol import WorkResult
from tailrace.server.session import Session
from tailrace.server.tables.hostwork import Counts
from tailrace.server.tally import failure, tally
from tailrace.server.underway import Underway

encode = msgspec.json.Encoder().encode
DriverCall = Acquire | Renew | Release


class Ledger:
    def __init__(
        self, journal: bool, sessions: MutableMapping[str, Session], moving: Moving | None = None
    ) -> None:
        self._journal = journal
        self._moving = moving or Moving()
        self._stuck: list[int] = []
        self._sessions = sessions
        self._driver: list[DriverCall] = []
        self._questions: list[Replan] = []
        self._publications: list[int] = []
        self._published: list[int] = []
        self._results: dict[int, int] = {}  # that were paid, by lease
        self._underway = Underway()
        self._begin(0, State(), None)
        self._doors: dict[type[Any], Any] = {
            Assign: self._assign,
            Close: self._close,
            Settle: self._settle,
            Reopen: self._reopen,
            Remember: self._remember,
            Drop: self._drop,
            Acquire: self._driver.append,
            Renew: self._driver_call,
            Release: self._driver_call,
            Exclude: self._exclude,
            PauseBag: self._brake,
            Replan: self._questions.append,
            StopBag: self._brake,
            TakenAway: self._taken_away,
            Unmatched: lambda one: self._tell(one.bag, "unmatched", {"why": one.why}),
            Forget: self._forget,
            ForgetHost: self._forget_host,
        }

    def begin(self, now: int, state: State, opening: Page | None) -> None:
        """A new cycle; what was published since the last is booked with it."""
        self._begin(now, state, opening)
        self._batch.published = [(attempt,) for attempt in self._published]
        for attempt in (*self._published, *self._stuck):
            self._arrived(self._moving.end(attempt))
        self._published.clear()
        self._stuck.clear()

    @property
    def now(self) -> int:
        """Of the cycle: whatever is told in it is entered with this."""
        return self._now

    def _arrived(self, bag: int | None) -> None:
        """The last task of the bag may begin, if it is out."""
        state = self._state.bags.get(bag or 0)
        if state is not None and state.terms.last:
            out = state.live.get(state.terms.count - 1, ())
            self._touched.update(dict.fromkeys(attempt.host for attempt in out))

    def is_early(self, attempt: Attempt) -> bool:
        """It is to find what the others made, which is on its way there."""
        return attempt.bag in self._moving and self._state.bags[attempt.bag].is_last(attempt.index)

    def _begin(self, now: int, state: State, opening: Page | None) -> None:
        self._now, self._state = now, state
        self._batch = Batch()
        self._work = Counts()
        self._event: AnyEvent | None = None  # in hand
        self._page = opening or Page()
        self._troubles: dict[tuple[int, int], TaskRow | None] = {}
        self._closed: dict[int, None] = {}
        self._counted: dict[int, None] = {}  # attempts whose success is in `work`, or was before
        self._reports: dict[int, WorkResult] = {}
        self._settled: dict[int, list[tuple[int, str]]] = {}
        self._failures: dict[int, list[tuple[int, str, str]]] = {}
        self._noted: dict[int, list[tuple[int, str]]] = {}  # successes with a note
        self._lost: dict[tuple[int, str], list[int]] = {}  # tasks, by bag and why that is told
        self._touched: dict[str, None] = {}
        self._given: dict[str, None] = {}  # hosts that were sent something

    # what the desk tells

    def new_bag(self, new: New) -> None:
        self._batch.new_bags.append(new)

    def answered(self, host: str, seq: int) -> None:
        """This call is told to start something: every earlier one is old, also after a restart."""
        self._batch.answered.append((seq, host))

    def reported(self, result: WorkResult, *, again: bool = False) -> None:
        """`again`: its success was counted when it came first."""
        self._reports[result.attempt] = result
        if again:
            self._counted[result.attempt] = None

    def published(self, attempt: int) -> None:
        self._published.append(attempt)

    def stuck(self, attempt: int) -> None:
        """Its outputs cannot be moved now: nobody waits for them."""
        self._stuck.append(attempt)

    @property
    def unwritten(self) -> bool:
        """Something was published that the tables do not know of yet, or will not be."""
        return bool(self._published or self._stuck)

    def enter(self, event: AnyEvent, decisions: list[AnyDecision]) -> None:
        if self._journal:
            self._page.enter(self._now, event, decisions)
        self._event = event
        for decision in decisions:
            self._doors[type(decision)](decision)
        if type(event) is PlanReady and plans.holds(self._state, event):
            self._tell(event.bag, "plan", plans.told(self._state, event))

    # what it gives back

    def batch(self) -> Batch:
        for bag, settled in self._settled.items():
            told = tally(self._state, self._state.bags[bag])
            failures = self._failures.get(bag, [])
            noted = {"noted": self._noted[bag]} if bag in self._noted else {}
            self._tell(bag, "settled", {"tasks": settled, "failures": failures, **noted, **told})
            self._underway.told(bag, told["running"])
        for (bag, why), tasks in self._lost.items():
            self._tell(bag, "taken_away", {"tasks": tasks, "why": why})
        self._tell_running()
        self._note_late_reports()
        for (bag, index), row in self._troubles.items():
            if row is None:
                self._batch.untroubled.append((bag, index))
            else:
                self._batch.troubles.append((bag, index, encode(row)))
        self._batch.work = self._work.rows()
        for host in self._given:
            self._batch.live.append((encode(list(self._state.hosts[host].live)).decode(), host))
        if self._page.entries:
            self._batch.journal = [(encode_page(self._page),)]
        return self._batch

    def _tell_running(self) -> None:
        """An attempt that ends and settles nothing may be of any bag."""
        unsettled = len(self._batch.ended) != len(self._batch.settled)
        news = self._underway.news(self._state, self._work.bags(), all_bags=unsettled)
        for bag, count in news:
            self._tell(bag, "running", {"running": count})

    def touched(self) -> list[str]:
        """Hosts that must hear of something decided in this cycle."""
        return list(self._touched)

    def take_driver_calls(self) -> list[DriverCall]:
        calls = list(self._driver)
        self._driver.clear()
        return calls

    def take_questions(self) -> list[Replan]:
        asked = list(self._questions)
        self._questions.clear()
        return asked

    def take_publications(self) -> tuple[list[int], list[int]]:
        """Attempts whose outputs are to be published, and those that wrote some in vain."""
        wanted, self._publications = self._publications, []
        vain = [n for n, result in self._reports.items() if result.outputs and n not in wanted]
        return wanted, vain

    # a row for each decision

    def _assign(self, new: Assign) -> None:
        lease = self._state.hosts[new.host].lease
        self._touched[new.host] = self._given[new.host] = None
        row = (new.attempt, new.bag, new.index, new.host, lease, new.why, self._now, new.timeout_us)
        self._batch.sent.append(row)
        self._work.sent(new.bag, new.host)

    def _drop(self, one: Drop) -> None:
        self._touched[one.host] = None

    def _close(self, end: Close) -> None:
        result = self._reports.get(end.attempt)
        run, code, body = None, None, None
        if result is not None:
            run, code, body = result.run_us, result.exit, encode(result)
            self._closed[end.attempt] = None
        row = (self._now, end.outcome._value_, end.accepted, run, code, body, end.attempt)
        self._batch.ended.append(row)
        if end.outcome is Outcome.SUCCEEDED:
            self._count_success(end)

    def _count_success(self, end: Close) -> None:
        """Nothing but its own report makes an attempt succeed."""
        told = self._event
        assert isinstance(told, Ended) and told.attempt == end.attempt
        if end.attempt not in self._counted:
            self._counted[end.attempt] = None
            self._work.succeeded(told.bag, told.host)

    def _note_late_reports(self) -> None:
        """What came after its attempt was closed, or second, changes nothing but is kept."""
        for attempt, result in self._reports.items():
            if attempt not in self._closed:
                row = (result.run_us, result.exit, encode(result), attempt)
                self._batch.noted.append(row)

    def _settle(self, end: Settle) -> None:
        outcome = end.outcome._value_
        self._batch.settled.append((end.bag, end.index, end.attempt, outcome))
        if end.troubled:
            self._troubles[end.bag, end.index] = None
        self._settled.setdefault(end.bag, []).append((end.index, outcome))
        result = self._reports.get(end.attempt)
        if end.outcome is not Outcome.SUCCEEDED:
            self._failures.setdefault(end.bag, []).append(
                (end.index, *failure(end.outcome, result))
            )
        elif result is not None:
            self._succeeded(end, result)

    def _succeeded(self, end: Settle, result: WorkResult) -> None:
        if result.error:
            self._noted.setdefault(end.bag, []).append((end.index, result.text()))
        if result.outputs:
            self._batch.unpublished.append((end.attempt,))
            self._moving.begin(end.bag, end.attempt)
            self._publications.append(end.attempt)

    def _reopen(self, one: Reopen) -> None:
        """A result of this very cycle is not in the tables yet: it is taken out of the batch."""
        task = (one.bag, one.index)
        self._batch.settled = [row for row in self._batch.settled if row[:2] != task]
        self._batch.reopened.append(task)

    def _forget(self, one: Forget) -> None:
        """Numbers that were used are not used again, also when none is left in the tables."""
        self._batch.forgotten.append((one.bag,))
        state = self._state
        self._batch.floors += [
            ("last_bag", one.bag), ("last_attempt", state.next_attempt - 1),
            ("last_lease", state.next_lease - 1),
        ]  # fmt: skip

    def _forget_host(self, one: ForgetHost) -> None:
        self._sessions.pop(one.host, None)
        self._batch.forgotten_hosts.append((one.host,))

    def _remember(self, one: Remember) -> None:
        row = one.row
        if isinstance(row, TaskRow):
            self._troubles[row.bag, row.index] = row
        elif isinstance(row, BagRow):
            self._batch.bags.append((row.phase.value, encode(row), row.bag))
            told = {"phase": row.phase, "why": row.why, "count": row.terms.count}
            self._tell(row.bag, "phase", told)
        elif isinstance(row, HostRow):
            self._remember_host(row)
        elif isinstance(row, UseRow):
            self._batch.uses.append((row.bag, row.owner, encode(row)))
        else:
            self._remember_lease(row)

    def _remember_lease(self, row: LeaseRow) -> None:
        """A result that is paid changes its lease's bill: that is no news of the lease."""
        self._batch.leases.append((row.lease, row.bag, encode(row)))
        known = self._results.get(row.lease, row.results)
        self._results[row.lease] = row.results
        if row.results == known:
            self._tell(row.bag, "lease", {"lease": row.lease, "state": row.state, "why": row.why})

    def _remember_host(self, row: HostRow) -> None:
        session = self._sessions[row.host]
        self._batch.hosts.append(
            (row.host, session.number, session.seq, encode(row), session.about,
             session.first_us, self._now, session.key_hash)
        )  # fmt: skip

    def _driver_call(self, one: Renew | Release) -> None:
        """Its worker hears of it, too."""
        self._driver.append(one)
        self._touched.update(dict.fromkeys(self._state.on_lease.get(one.lease, {})))

    def _exclude(self, one: Exclude) -> None:
        for bag in self._state.bags.values():
            if bag.runs:
                said = f": {one.told}" if one.told and bag.id == one.bag else ""
                body = {"host": one.host, "until_us": one.until_us, "why": one.why + said}
                self._tell(bag.id, "excluded", body)

    def _taken_away(self, one: TakenAway) -> None:
        """A pool may take many machines at once: one item for all that come to the same."""
        self._lost.setdefault((one.bag, one.why), []).append(one.index)

    def _brake(self, one: Any) -> None:
        """The phase that follows says it all."""

    def _tell(self, bag: int, kind: str, body: dict[str, Any]) -> None:
        self._batch.feed.append((bag, self._now, kind, encode(body)))
