"""What a run of GridBot's experiments came to, bag by bag, with what was asked of the scheduler."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.decisions import Assign, Close
from tailrace.scheduler.events import AnyEvent, Offer
from tailrace.simulation.laws import Floats
from tailrace.simulation.record import Record
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

SECOND, MINUTE, DAY = 1_000_000, 60_000_000, 86_400_000_000
BESIDE = "another beside"  # how the scheduler calls an attempt that replication wanted


class Bag(NamedTuple):
    tasks: int
    began_s: float  # its first task was sent
    done_s: Floats  # when its tasks had their results, in order
    replicas: int  # attempts that its policy of replication wanted
    wasted: int  # attempts whose task had its result from another

    @property
    def took_s(self) -> float:
        """From its first task to its last result."""
        return float(self.done_s[-1]) - self.began_s

    def left_s(self, count: int) -> float:
        """When so many were left."""
        return float(self.done_s[max(self.tasks - count - 1, 0)])

    @property
    def replicas_percent(self) -> float:
        return 100 * self.replicas / self.tasks

    @property
    def waste_percent(self) -> float:
        return 100 * self.wasted / self.tasks


class Told(NamedTuple):
    bags: dict[str, Bag]
    requests: list[int]  # in each minute
    sent: list[int]  # attempts, in each minute
    results: dict[str, int]  # by pool

    @property
    def only(self) -> Bag:
        (bag,) = self.bags.values()
        return bag

    @property
    def took_s(self) -> float:
        """Until the last result of all."""
        return max(float(bag.done_s[-1]) for bag in self.bags.values())


class Tally:
    """Sees each event with its decisions."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.replicas: Counter[int] = Counter()  # by bag
        self.wasted: Counter[int] = Counter()
        self._bag_of: dict[int, int] = {}  # by attempt
        self._until: dict[int, int] = {}  # their time-outs

    def __call__(self, event: AnyEvent, decisions: list[Any], now: int) -> None:
        if type(event) is Offer:
            self.requests[now // MINUTE] += 1
        for decision in decisions:
            if type(decision) is Assign:
                self._assigned(decision, now)
            elif type(decision) is Close:
                self._closed(decision)

    def _assigned(self, new: Assign, now: int) -> None:
        self.sent[now // MINUTE] += 1
        self._bag_of[new.attempt] = new.bag
        self._until[new.attempt] = now + (new.timeout_us or DAY)
        self.replicas[new.bag] += new.why.startswith(BESIDE)

    def _closed(self, end: Close) -> None:
        """Ended because another has the result, or come too late. Those that run on and are lost
        are no waste: the paper counts results that are discarded."""
        bag = self._bag_of.pop(end.attempt)
        del self._until[end.attempt]
        late = end.outcome is Outcome.SUCCEEDED and not end.accepted
        self.wasted[bag] += late or end.outcome is Outcome.CANCELLED

    def run_out(self, now: int) -> None:
        """All tasks have their results: what still runs, and may still answer, is in vain."""
        for attempt, bag in self._bag_of.items():
            self.wasted[bag] += self._until[attempt] > now


def tell(scenario: Scenario, seed: int) -> Told:
    """Of one run, from beginning to end."""
    tally = Tally()
    world = World(scenario, seed, watch=tally)
    world.run()
    tally.run_out(world.engine.now)
    results: Counter[str] = Counter()
    for host in world.every_host:
        results[host.pool.terms.name] += host.machine.usage().ended
    bags = {
        tasks.terms.name: _bag(record, tally, number)
        for number, (tasks, record) in enumerate(zip(scenario.bags, world.records, strict=True), 1)
    }
    return Told(bags, _by_minute(tally.requests), _by_minute(tally.sent), dict(results))


def _bag(record: Record, tally: Tally, number: int) -> Bag:
    """Every task has its result: these policies try again without end."""
    assert record.complete and not record.failed
    done = np.sort(np.array(record.done, np.int64)) / SECOND
    return Bag(len(done), min(record.sent) / SECOND, done, tally.replicas[number],
               tally.wasted[number])  # fmt: skip


def _by_minute(counted: Counter[int]) -> list[int]:
    return [counted[minute] for minute in range(max(counted, default=-1) + 1)]
