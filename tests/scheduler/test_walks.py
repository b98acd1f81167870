"""Long random walks, weighted as life is: hosts work, most tasks succeed, some things go wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, Policy
from tailrace.bag.terms import Growth, Limits, Retries, Strategy
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import BagChanged, Change

from .stage import GIB, SECOND, Stage, assigned
from .test_machine import ENDS, NAMES, POOLS, durable, finish

STEPS = 300
POLICIES = [
    Policy(rank="Tail ? 2 : Host.NumCpus", concurrency="Host.NumCpus"),
    Policy(rank="3", deadline="Host.Running + 2"),
    Policy(job_requirements="BOT.JobsRunning < 3", replication_requirements="Job.Attempts < 4"),
    Policy(
        job_requirements="NumberOfReplicas == 0 || !member(Host.Pool, Job.ReplicaPools)",
        replication_requirements="NumberOfReplicas < 3 && Job.LastReplicaAge > 1",
        concurrency="1 + Job.Failures",
    ),
]
BY_PARAMETERS = [
    Policy(job_requirements="Params.x < 2 || Host.NumCpus > 1", deadline="1 + 5 * Params.x"),
    Policy(job_requirements="Params.x == BOT.JobsRunning % 4 || Host.NumCpus > 2"),
    Policy(
        job_requirements="Host.Running < 1 + Params.x || Job.Failures > 0",
        replication_requirements="NumberOfReplicas < Params.x",
    ),
]
VALUES = {"x": (0, 1, 2, 3)}
MATCHING = ["fcfs", "fcfs", "random", "fjbcr"]


class Walk:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.stage = Stage(*POOLS)
        self.sent: list[Assign] = []
        self.ways: list[tuple[int, Callable[[], Any]]] = [
            (3, self.submit),
            (6, self.seen),
            (40, self.offer),
            (60, self.end_live),
            (4, self.end_old),
            (10, self.progress),
            (3, self.silent),
            (1, self.withdraw),
            (2, self.owner),
            (2, self.lease_gone),
            (8, self.time),
            (1, self.crash),
        ]

    def step(self) -> None:
        weights = [weight for weight, _ in self.ways]
        self.random.choices([way for _, way in self.ways], weights)[0]()
        self.sent += assigned(self.stage.last)

    def submit(self) -> None:
        r = self.random
        if len(self.stage.tables.bags) >= 4:
            return
        terms: dict[str, Any] = {}
        if r.random() < 0.4:
            terms = {"needs": {"cores": 1000, "memory": GIB}, "limits": Limits(memory=GIB),
                     "growth": Growth(2.0, {"memory": 8 * GIB}, ("memory",))}  # fmt: skip
        retries = r.randint(0, 3)
        count = r.randint(0, 60)
        last = count > 0 and r.random() < 0.4
        taken = [i for i in range(count - last) if r.random() < 0.5] if r.random() < 0.4 else []
        policy = r.choice([None, BagPolicy(r.choice(POLICIES))])
        columns = None
        if not last and r.random() < 0.4:
            policy, columns = self.by_parameters(count)
        self.stage.submit(
            count, taken=taken, last=last, columns=columns, order_seed=r.choice([None, 3]),
            timeout_us=r.choice([None, 4 * SECOND]), max_failures=r.choice([None, None, 5]),
            most_running=r.choice([None, None, 2]),
            retries=Retries(retries, retries, retries, retries, retries),
            like_failures=r.choice([5, 20]), pools=r.choice([(), ("home",), ("home", "spot")]),
            budget=r.choice([{}, {"USD": 900}]), matching=Strategy(r.choice(MATCHING)),
            round_us=r.choice([0, 0, 0, 3 * SECOND]), owner=r.choice(["ann", "bob"]),
            weight=r.choice([1.0, 2.0]), policy=policy,
            tail_below=r.choice([None, 5]), tail_stays=r.random() < 0.3,
            losers_run_on=r.random() < 0.3,
            **self.replication(), **terms)  # fmt: skip

    def by_parameters(self, count: int) -> tuple[BagPolicy, Columns]:
        policy = BagPolicy(self.random.choice(BY_PARAMETERS), params=VALUES)
        return policy, self.columns(count)

    def columns(self, count: int) -> Columns:
        groups = bytes(self.random.randrange(4) for _ in range(count))
        return Columns(("x",), tuple((x,) for x in VALUES["x"]), groups)

    def replication(self) -> dict[str, Any]:
        r, kind = self.random, self.random.choice(["", "", "wqr", "ntdmr"])
        if not kind:
            return {"repeatable": r.random() < 0.7}
        options = {"most": r.randint(1, 4)} if kind == "wqr" else {
            "n": r.randint(-1, 2), "t_s": r.choice([0.0, 2.0]), "d_s": r.choice([2.0, 60.0]),
            "mr": r.choice([0.0, 0.5]), "turnaround_s": r.choice([1.0, 60.0]),
            "cancel": r.random() < 0.5,
        }  # fmt: skip
        return {"repeatable": True, "replication": Strategy(kind, options)}

    def seen(self) -> None:
        r = self.random
        pool, kind, cores = r.choice(["home", "home", "spot", "paper"]), "linux", r.randint(1, 4)
        up = [lease for lease, row in self.stage.tables.leases.items() if row.pool == pool]
        lease = r.choice(up) if up else None
        self.stage.host(r.choice(NAMES), pool=pool, kind=r.choice([kind, "arm"]), cores=cores,
                        memory=cores * 2 * GIB, lease=lease)  # fmt: skip

    def offer(self) -> None:
        if self.stage.capacity:
            self.stage.offer(self.random.choice(sorted(self.stage.capacity)))

    def end_live(self) -> None:
        live = [one for one in self.sent if one.attempt not in self.stage.tables.outcomes]
        if live:
            self._end(self.random.choice(live), 0.75)

    def end_old(self) -> None:
        if self.sent:
            self._end(self.random.choice(self.sent), 0.6)

    def _end(self, one: Assign, lucky: float) -> None:
        r = self.random
        outcome = Outcome.SUCCEEDED if r.random() < lucky else r.choice(ENDS)
        limit = "memory" if outcome is Outcome.OVER_LIMIT else ""
        run = r.choice([1000, 50_000, SECOND])
        self.stage.end(one, outcome, exit=r.randint(1, 2), run_us=run, limit=limit, text="x 1")

    def progress(self) -> None:
        """Mostly of one that is out; from its host, or from any."""
        if self.sent:
            one, r = self.random.choice(self.sent[-8:]), self.random
            done = r.choice([None, 0.0, r.random(), 1.0])
            self.stage.progress(one, done, r.choice([one.host, *NAMES]), run_us=self.stage.now)

    def silent(self) -> None:
        self.stage.silent(self.random.choice(NAMES))

    def withdraw(self) -> None:
        self.stage.withdraw(self.random.choice(NAMES))

    def owner(self) -> None:
        change = self.random.choice([*Change, Change.RESUME, Change.RETRY])
        bag, tasks = self.random.randint(1, 4), range(self.random.randint(0, 60))
        if change in (Change.POLICY, Change.GROW) and bag in self.stage.tables.bags:
            self.policy(bag) if change is Change.POLICY else self.grow(bag)
        else:
            self.stage.tell(BagChanged(bag, change, tuple(tasks)))

    def policy(self, bag: int) -> None:
        terms = self.stage.tables.bags[bag].terms
        if terms.last or self.random.random() < 0.5:
            self.stage.set_policy(bag, BagPolicy(self.random.choice(POLICIES)))
        else:
            self.stage.set_policy(bag, *self.by_parameters(terms.count))

    def grow(self, bag: int) -> None:
        held, more = self.stage.tables.columns.get(bag), self.random.randint(1, 9)
        if held is None or self.stage.scheduler.state.bags[bag].may_grow(len(held.groups), ("x",)):
            columns = None if held is None else self.columns(more)
            self.stage.grow(bag, more, columns=columns)

    def lease_gone(self) -> None:
        self.stage.gone(self.random.randint(1, max(self.stage.tables.leases, default=1)))

    def time(self) -> None:
        self.stage.wait(self.random.choice([0.01, 0.5, 2, 5, 70]))

    def crash(self) -> None:
        self.stage.restart(grace_us=self.random.choice([0, 5 * SECOND]))


@pytest.mark.parametrize("seed", range(40))
def test_a_walk_keeps_every_promise_and_every_bag_can_be_brought_to_its_end(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(STEPS):
        walk.step()
        other = Scheduler(check=True)
        other.restore(walk.stage.tables.restored(), walk.stage.now)
        assert durable(other.state) == durable(walk.stage.scheduler.state)
    finish(walk.stage)
    walk.stage.restart()
    finish(walk.stage)
