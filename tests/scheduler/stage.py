"""A stage to play scenes on: a scheduler that checks itself, hosts that call, and tables that keep
what was decided. Everything goes through the scheduler's public door."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy
from tailrace.bag.terms import Terms
from tailrace.pools.terms import Pool
from tailrace.scheduler.bits import Bits
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import AnyDecision, Assign, Drop, Settle
from tailrace.scheduler.events import (
    AnyEvent,
    BagChanged,
    BagSubmitted,
    Change,
    Ended,
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    Measured,
    More,
    Offer,
    OfferWithdrawn,
    Progress,
    Restarted,
    Stopping,
    TasksArrived,
    Tick,
)
from tailrace.scheduler.journal import Page

from .tables import Tables

SECOND = 1_000_000
GIB = 1 << 30
FREE = (Pool("home", max=0),)  # its machines come by themselves


class Stage:
    def __init__(self, *pools: Pool, grace_us: int = 0, check: bool = True) -> None:
        self.scheduler = Scheduler(check=check)
        self.pools = pools or FREE
        self.tables = Tables()
        self.now = 0
        self.capacity: dict[str, dict[str, int]] = {}
        self.seen: dict[str, HostSeen] = {}
        self.last: list[AnyDecision] = []
        self.all: list[AnyDecision] = []
        self.journal = [Page()]
        self.tell(Restarted(7, self.pools, grace_us))

    def tell(self, event: AnyEvent) -> list[AnyDecision]:
        self.last = self.scheduler.handle(event, self.now)
        self.tables.enter(self.last, self.now)
        self.all += self.last
        self.journal[-1].enter(self.now, event, self.last)
        return self.last

    def wait(self, seconds: float) -> list[AnyDecision]:
        self.now += int(seconds * SECOND)
        return self.tell(Tick())

    # bags

    def submit(self, count: int, *, permutation: bytes | None = None, arrived: int | None = None,
               taken: Iterable[int] = (), columns: Columns | None = None,
               **terms: Any) -> int:  # fmt: skip
        """The results of those `taken` come from an earlier bag."""
        bag = max(self.tables.bags, default=0) + 1
        if permutation is not None:
            self.tables.permutations[bag] = permutation
        self._keep(bag, columns)
        bits = Bits(count)
        for index in taken:
            bits.add(index)
            self.tables.results[bag, index] = (0, Outcome.SUCCEEDED)
        known = bytes(bits) if bits.count else None
        terms_ = Terms(count, **terms)
        self.tell(BagSubmitted(bag, terms_, permutation, arrived, known, columns))
        return bag

    def _keep(self, bag: int, columns: Columns | None) -> None:
        """A server finds them again in the content of the bag."""
        self.tables.columns.pop(bag, None)
        if columns is not None:
            self.tables.columns[bag] = columns

    def set_policy(
        self, bag: int, policy: BagPolicy | None, columns: Columns | None = None
    ) -> list[Assign]:
        self._keep(bag, columns)
        event = BagChanged(bag, Change.POLICY, policy=policy, columns=columns)
        return assigned(self.tell(event))

    def arrive(self, bag: int, arrived: int) -> list[Assign]:
        return assigned(self.tell(TasksArrived(bag, arrived)))

    def change(self, bag: int, change: Change, *tasks: int, why: str = "") -> list[AnyDecision]:
        return self.tell(BagChanged(bag, change, tasks, why))

    def grow(
        self,
        bag: int,
        more: int,
        permutation: list[int] | None = None,
        columns: Columns | None = None,
    ) -> list[Assign]:
        before = self.tables.bags[bag].terms.count
        numbers = None if permutation is None else bytes(array("I", permutation))
        if permutation is not None:
            behind = array("I", [before + index for index in permutation])
            self.tables.permutations[bag] += bytes(behind)
        event = BagChanged(bag, Change.GROW, more=More(before, more, numbers, columns))
        if columns is not None:
            self._keep(bag, self.tables.columns[bag].joined(columns))
        return assigned(self.tell(event))

    # hosts

    def host(self, name: str, *, pool: str = "", kind: str = "linux", lease: int | None = None,
             cores: int = 1, speed: float = 1.0, shared: int | None = None,
             **more: int) -> None:  # fmt: skip
        """It calls for the first time; `offer` asks for work. `shared`: cores that it has, where it
        offers more."""
        capacity = {"cores": cores * 1000, **more}
        seen = HostSeen(name, pool or self.pools[0].name, kind, capacity, lease, speed,
                        cores=None if shared is None else shared * 1000)  # fmt: skip
        self.capacity[name], self.seen[name] = capacity, seen
        self.tell(seen)

    def hosts(self, *names: str, **facts: Any) -> None:
        for name in names:
            self.host(name, **facts)

    def offer(self, host: str) -> list[Assign]:
        return assigned(self.tell(Offer(host, self.capacity[host])))

    def withdraw(self, host: str) -> None:
        self.tell(OfferWithdrawn(host))

    def silent(self, host: str) -> list[AnyDecision]:
        return self.tell(HostSilent(host))

    # attempts

    def end(self, sent: Assign, outcome: Outcome, **measured: Any) -> list[AnyDecision]:
        told = Measured(**measured)
        return self.tell(Ended(sent.attempt, sent.bag, sent.index, sent.host, outcome, told))

    def succeed(self, sent: Assign, *, run_s: float = 10) -> list[AnyDecision]:
        return self.end(sent, Outcome.SUCCEEDED, run_us=int(run_s * SECOND), exit=0)

    def fail(self, sent: Assign, *, exit: int = 1, text: str = "no") -> list[AnyDecision]:
        return self.end(sent, Outcome.TASK_FAILED, exit=exit, text=text)

    def progress(self, sent: Assign, done: float | None, host: str, run_us: int) -> None:
        assert self.tell(Progress(sent.attempt, host, done, run_us)) == []

    def pass_trial(self, host: str) -> None:
        """The first task on a kind of host, out of the way."""
        (trial,) = self.offer(host)
        self.succeed(trial)

    def gone(self, lease: int, why: str = "") -> list[AnyDecision]:
        return self.tell(LeaseChanged(lease, LeaseState.GONE, why))

    # what is known

    def result(self, bag: int, index: int) -> Outcome | None:
        found = self.tables.results.get((bag, index))
        return found[1] if found else None

    def results(self, bag: int) -> list[Outcome | None]:
        return [self.result(bag, index) for index in range(self.tables.bags[bag].terms.count)]

    def phase(self, bag: int) -> str:
        return self.tables.bags[bag].phase.value

    def explain(self, subject: str) -> str:
        return "\n".join(self.scheduler.explain(subject, self.now))

    def restart(self, *, grace_us: int = 0, pools: tuple[Pool, ...] | None = None) -> None:
        """Killed, and restored from the tables. The hosts have yet to call again."""
        self.scheduler = Scheduler(check=True)
        rows = self.tables.restored()
        self.scheduler.restore(rows, self.now)
        self.journal.append(Page(rows, self.now))
        self.tell(Restarted(7, pools if pools is not None else self.pools, grace_us))

    def stop(self) -> None:
        """In order; `restart` begins again."""
        self.tell(Stopping())

    def back(self, *names: str) -> None:
        """The hosts call again after a restart, or after silence."""
        for name in names:
            self.tell(self.seen[name])


def assigned(decisions: Iterable[AnyDecision]) -> list[Assign]:
    return [one for one in decisions if isinstance(one, Assign)]


def dropped(decisions: Iterable[AnyDecision]) -> list[int]:
    return [one.attempt for one in decisions if isinstance(one, Drop)]


def settled(decisions: Iterable[AnyDecision]) -> list[tuple[int, Outcome]]:
    return [(one.index, one.outcome) for one in decisions if isinstance(one, Settle)]


def kinds(decisions: Iterable[AnyDecision]) -> list[str]:
    return [type(one).__name__ for one in decisions]
