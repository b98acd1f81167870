"""Long random walks, weighted as life is: hosts work, most tasks succeed, some things go wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Growth, Limits, Retries, Strategy
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import Change

from .stage import GIB, SECOND, Stage, assigned
from .test_machine import ENDS, NAMES, POOLS, durable, finish

STEPS = 300
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
        self.stage.submit(
            count, taken=taken, last=last, order_seed=r.choice([None, 3]),
            timeout_us=r.choice([None, 4 * SECOND]), max_failures=r.choice([None, None, 5]),
            most_running=r.choice([None, None, 2]),
            retries=Retries(retries, retries, retries, retries, retries),
            like_failures=r.choice([5, 20]), pools=r.choice([(), ("home",), ("home", "spot")]),
            budget=r.choice([{}, {"USD": 900}]), matching=Strategy(r.choice(MATCHING)),
            round_us=r.choice([0, 0, 0, 3 * SECOND]), **self.replication(), **terms)  # fmt: skip

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
        self.stage.change(self.random.randint(1, 4), change, *range(self.random.randint(0, 60)))

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
