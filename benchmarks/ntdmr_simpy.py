"""The NTDMr model as one would write it in SimPy: a process for each host, one for each attempt's
next sending, and a store for each queue. In the paper's mode alone."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import simpy

Steps = Generator[simpy.Event, Any, None]


class Asked(NamedTuple):
    tasks: int
    cheap: int
    dear: int
    turnarounds: Sequence[float]
    returned: float
    reliable_s: float
    patience_s: float
    n: int
    t: float
    d: float


def makespan(asked: Asked, seed: int) -> tuple[float, float]:
    """Of the bag, and of its tail."""
    bag = _Bag(asked, seed)
    bag.world.run(until=bag.ended)
    return bag.world.now, bag.world.now - bag.tail_s


class _Bag:
    def __init__(self, asked: Asked, seed: int) -> None:
        self.asked, self.chance = asked, random.Random(seed)
        self.world = simpy.Environment()
        self.queues = simpy.Store(self.world), simpy.Store(self.world)
        self.done: set[int] = set()
        self.queued: set[int] = set(range(asked.tasks))
        self.last: dict[int, float] = {}
        self.copies, self.dear = [0] * asked.tasks, [False] * asked.tasks
        self.ended, self.tail_s, self.in_tail = self.world.event(), 0.0, False
        for task in range(asked.tasks):
            self.queues[0].put(task)
        for _ in range(asked.cheap):
            self.world.process(self._cheap_host())
        self._look()

    def _cheap_host(self) -> Steps:
        while True:
            task = yield self.queues[0].get()
            if task not in self.queued:
                continue
            self._sent(task, dear=False)
            x, limit = self.chance.random(), self.asked.d if self.in_tail else self.asked.patience_s
            took = self.chance.choice(self.asked.turnarounds) if x < self.asked.returned else limit
            yield self.world.timeout(min(took, limit))
            if took < limit:
                self._result(task)
            elif not self.in_tail and task not in self.done and task not in self.queued:
                self._enqueue(task, 0)

    def _dear_host(self) -> Steps:
        while True:
            task = yield self.queues[1].get()
            if task in self.queued:
                self._sent(task, dear=True)
                yield self.world.timeout(self.asked.reliable_s)
                self._result(task)

    def _sent(self, task: int, *, dear: bool) -> None:
        self.queued.discard(task)
        self.last[task] = self.world.now
        if self.in_tail:
            self.copies[task] += not dear
            self.dear[task] = self.dear[task] or dear
            self.world.process(self._again(task, self.asked.t))

    def _again(self, task: int, after: float) -> Steps:
        yield self.world.timeout(after)
        self._want(task)

    def _want(self, task: int) -> None:
        if task in self.done or task in self.queued:
            return
        if self.copies[task] < self.asked.n:
            self._enqueue(task, 0)
        elif not self.dear[task]:
            self._enqueue(task, 1)

    def _enqueue(self, task: int, pool: int) -> None:
        self.queued.add(task)
        self.queues[pool].put(task)

    def _result(self, task: int) -> None:
        if task not in self.done:
            self.done.add(task)
            self.queued.discard(task)
            self._look()

    def _look(self) -> None:
        left = self.asked.tasks - len(self.done)
        if not left:
            self.ended.succeed()
        elif not self.in_tail and left < self.asked.cheap:
            self._begin_tail()

    def _begin_tail(self) -> None:
        self.in_tail, self.tail_s = True, self.world.now
        for _ in range(self.asked.dear):
            self.world.process(self._dear_host())
        waiting, self.queued = self.queued, set()
        for task in range(self.asked.tasks):
            if task in waiting:
                self._want(task)
            elif task not in self.done:
                due = max(self.last[task] + self.asked.t - self.world.now, 0.0)
                self.world.process(self._again(task, due))
