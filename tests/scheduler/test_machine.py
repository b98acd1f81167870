"""Anything may happen in any order: after each step the scheduler agrees with itself, a scheduler
restored from the tables knows the same, and in the end every bag can be brought to its end."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Growth, Limits, Retries
from tailrace.pools.terms import Billing, Late, Pool
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import Change, LeaseState
from tailrace.scheduler.state import State

from .stage import GIB, SECOND, Stage, assigned

POOLS = (
    Pool("home", max=0),
    Pool(
        "spot",
        billing=Billing(100, "USD", 60 * SECOND),
        max=2,
        lease_us=120 * SECOND,
        reliable=False,
    ),
    Pool("paper", max=0, late_results=Late.IGNORE, min_timeout_us=SECOND),
)
NAMES = ("a", "b", "c", "d")
ENDS = [outcome for outcome in Outcome if outcome is not Outcome.INVALID]


def durable(state: State) -> dict[str, Any]:
    """All that must survive a crash."""
    return {
        "bags": {bag.id: _durable_bag(bag) for bag in state.bags.values()},
        "hosts": {host.id: _durable_host(host) for host in state.hosts.values()},
        "leases": {n: row for n, row in state.leases.items() if row.state is not LeaseState.GONE},
        "attempts": {n: (a.bag, a.index, a.host, a.sent_us) for n, a in state.attempts.items()},
        "next": (state.next_attempt, state.next_lease),
    }


def _durable_bag(bag: Any) -> dict[str, Any]:
    return {
        "row": bag.row(),
        "cursor": bag.fresh.sent,
        "done": bytes(bag.done),
        "failed": bytes(bag.failed) if bag.failed.count else b"",
        "troubles": {index: trouble.row(bag.id, index) for index, trouble in bag.troubles.items()},
        "waiting": _waiting(bag),
        "expired": _expired(bag),
        "paid": {name: cost for name, cost in bag.paid.items() if cost},
        "leases": sorted(bag.leases),
    }


def _waiting(bag: Any) -> Any:
    """What a replication strategy wants follows from the rest, once the pools are known."""
    if bag.replication is None:
        return dict(sorted(bag.requeue.waiting.items()))
    idle = [index for index in bag.troubles if index not in bag.live]
    return sorted(i for i in idle if i in bag.requeue.waiting or bag.replication.waits(i))


def _expired(bag: Any) -> list[int]:
    """Of a task that has its result it does not matter."""
    undone = [live for index, live in bag.live.items() if index not in bag.done]
    return sorted(a.attempt for live in undone for a in live if a.expired)


def _durable_host(host: Any) -> tuple[Any, ...]:
    row = host.row()
    return (row.pool, row.kind, row.capacity, row.lease, row.booked, row.exclusions,
            row.excluded_until_us, sorted(host.live))  # fmt: skip


class AnythingGoes(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.stage = Stage(*POOLS)
        self.sent: list[Assign] = []
        self.ended: list[Assign] = []

    def _note(self) -> None:
        self.sent += assigned(self.stage.last)

    @rule(
        count=st.integers(0, 12),
        repeatable=st.booleans(),
        timeout=st.sampled_from([None, 3 * SECOND]),
        retries=st.integers(0, 2),
        max_failures=st.sampled_from([None, 2]),
        like=st.sampled_from([3, 20]),
        pools=st.sampled_from([(), ("home",), ("spot", "home")]),
        budget=st.sampled_from([{}, {"USD": 0}, {"USD": 700}]),
        grow=st.booleans(),
        seed=st.sampled_from([None, 5]),
        last=st.booleans(),
    )
    def submit(self, count: int, repeatable: bool, timeout: int | None, retries: int,
               max_failures: int | None, like: int, pools: tuple[str, ...],
               budget: dict[str, int], grow: bool, seed: int | None,
               last: bool) -> None:  # fmt: skip
        if len(self.stage.tables.bags) >= 3:
            return
        terms: dict[str, Any] = {}
        if grow:
            terms = {"needs": {"cores": 1000, "memory": GIB}, "limits": Limits(memory=GIB),
                     "growth": Growth(2.0, {"memory": 4 * GIB}, ("memory",))}  # fmt: skip
        self.stage.submit(
            count, repeatable=repeatable, timeout_us=timeout, max_failures=max_failures,
            retries=Retries(retries, retries, retries, retries, retries), like_failures=like,
            pools=pools, budget=budget, order_seed=seed, last=last and count > 0,
            **terms)  # fmt: skip
        self._note()

    @rule(name=st.sampled_from(NAMES), pool=st.sampled_from(["home", "spot", "paper"]),
          kind=st.sampled_from(["linux", "arm"]), cores=st.integers(1, 3),
          lease=st.integers(0, 3))  # fmt: skip
    def seen(self, name: str, pool: str, kind: str, cores: int, lease: int) -> None:
        memory = cores * 2 * GIB
        self.stage.host(name, pool=pool, kind=kind, cores=cores, memory=memory, lease=lease or None)
        self._note()

    @rule(name=st.sampled_from(NAMES))
    def offer(self, name: str) -> None:
        if name in self.stage.capacity:
            self.stage.offer(name)
            self._note()

    @rule(name=st.sampled_from(NAMES))
    def withdraw(self, name: str) -> None:
        self.stage.withdraw(name)

    @rule(name=st.sampled_from(NAMES))
    def silent(self, name: str) -> None:
        self.stage.silent(name)
        self._note()

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), outcome=st.sampled_from(ENDS), exit=st.integers(1, 2),
          run=st.integers(0, 3 * SECOND), again=st.booleans())  # fmt: skip
    def end(self, data: Any, outcome: Outcome, exit: int, run: int, again: bool) -> None:
        """One that is live, or was closed long ago; sometimes told twice."""
        one = data.draw(st.sampled_from(self.sent))
        limit = "memory" if outcome is Outcome.OVER_LIMIT else ""
        for _ in range(1 + again):
            self.stage.end(one, outcome, exit=exit, run_us=run, limit=limit, text="oh 12")
            self._note()

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), done=st.one_of(st.none(), st.floats(0, 1)),
          run=st.integers(0, 3 * SECOND))  # fmt: skip
    def progress(self, data: Any, done: float | None, run: int) -> None:
        one = data.draw(st.sampled_from(self.sent))
        self.stage.progress(one, done, one.host, run)

    @rule(bag=st.integers(1, 3), change=st.sampled_from(list(Change)), tasks=st.integers(0, 12))
    def owner(self, bag: int, change: Change, tasks: int) -> None:
        self.stage.change(bag, change, *range(tasks), why="so he wished")
        self._note()

    @rule(lease=st.integers(1, 6))
    def lease_gone(self, lease: int) -> None:
        self.stage.gone(lease, "vanished")
        self._note()

    @rule(seconds=st.sampled_from([0.1, 1, 2, 5, 60, 200]))
    def time_passes(self, seconds: float) -> None:
        self.stage.wait(seconds)
        self._note()

    @rule(grace=st.sampled_from([0, 5 * SECOND]))
    def crash(self, grace: int) -> None:
        self.stage.restart(grace_us=grace)
        self._note()

    @invariant()
    def a_restored_scheduler_knows_the_same(self) -> None:
        if not hasattr(self, "stage"):
            return
        other = Scheduler(check=True)
        other.restore(self.stage.tables.restored(), self.stage.now)
        assert durable(other.state) == durable(self.stage.scheduler.state)

    @invariant()
    def everything_can_be_explained(self) -> None:
        if not hasattr(self, "stage"):
            return
        for bag in self.stage.tables.bags.values():
            assert self.stage.explain(f"bag {bag.bag}")
            for index in range(bag.terms.count):
                assert self.stage.explain(f"task {bag.bag}/{index}")
        for host in self.stage.tables.hosts:
            assert self.stage.explain(f"host {host}")

    def teardown(self) -> None:
        """In a kind world every bag ends: both in this mind and in a restored one."""
        if not hasattr(self, "stage"):
            return
        finish(self.stage)
        self.stage.restart()
        finish(self.stage)


def finish(stage: Stage) -> None:
    """Hosts that are large enough come, nothing fails any more, the owner resumes what stands."""
    for name in NAMES:
        if name in stage.capacity:
            stage.silent(name)
    for attempt in list(stage.scheduler.state.attempts.values()):
        one = Assign(attempt.attempt, attempt.bag, attempt.index, attempt.host, "")
        stage.end(one, Outcome.CANCELLED)
    stage.host("good", pool="home", cores=4, memory=32 * GIB)
    stage.host("also good", pool="spot", cores=4, memory=32 * GIB)
    for _ in range(200):
        stage.wait(3)
        for bag, row in list(stage.tables.bags.items()):
            if row.phase.value not in ("running", "finished"):
                stage.change(bag, Change.RESUME)
        if all(row.phase.value == "finished" for row in stage.tables.bags.values()):
            break
        for name in ("good", "also good"):
            stage.offer(name)
            for attempt in list(stage.scheduler.state.hosts[name].live.values()):
                sent = Assign(attempt.attempt, attempt.bag, attempt.index, name, "")
                stage.succeed(sent, run_s=1)
    else:
        told = "\n".join(stage.explain(f"bag {bag}") for bag in stage.tables.bags)
        raise AssertionError(f"some bag does not end:\n{told}")
    for bag, row in stage.tables.bags.items():
        assert None not in stage.results(bag), f"a task of bag {bag} has no result ({row})"


TestAnythingGoes = AnythingGoes.TestCase
TestAnythingGoes.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
