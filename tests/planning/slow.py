"""The NTDMr model of ExPERT (4.4), step by step of time, as the paper tells it: slow and plain.

At each step: (1) each attempt that runs is checked for its result or its time-out; (2) a task
without a result of which nothing is queued, and whose last sending is T ago, is enqueued; (3) idle
machines take what is first in their queue. What a pool's terms change of that stands beside it.
It shares nothing with the kernel, whose law it must have when the steps are short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

NEVER = math.inf


@dataclass(frozen=True)
class Strategy:
    n: float  # attempts of a task on cheap machines in the tail; infinity: no dear ones
    t: float
    d: float
    dear: int  # machines: ceil(Mr · cheap ones)


@dataclass(frozen=True)
class Terms:
    """What a pool may say otherwise than the paper's."""

    retry_first: bool = False  # before the tail what failed goes before what was never sent
    late: bool = False  # results count after their time-out
    cancel: bool = False  # what runs beside a result is ended
    failures: Sequence[float] = ()  # known after so long; none: by the time-out alone
    cheap_startup: float = 0.0
    cheap_unit: float = 0.0  # 0: they are there, and cost nothing by time
    dear_startup: float = 0.0
    dear_unit: float = 0.0


PAPER = Terms()


@dataclass(frozen=True)
class Bag:
    tasks: int
    cheap: int
    turnarounds: Sequence[float]  # Fs
    share: Sequence[tuple[float, float]]  # γ(t'): since when, and what share of attempts returns
    dear_turnarounds: Sequence[float]
    patience: float  # T and D until the tail


@dataclass
class Outcome:
    makespan: float = 0.0
    tail: float = 0.0
    results: int = 0  # paid, of both kinds, also those of tasks that have one
    results_in_time: int = 0  # of those: until the end of the bag
    dear_sent: int = 0
    cheap_leased: float = 0.0  # time paid
    dear_leased: float = 0.0


@dataclass(eq=False)
class Machine:
    dear: bool
    attempt: Attempt | None = None
    leased: float | None = None  # since when
    here: float = 0.0  # from when it takes tasks
    idle_since: float = 0.0


@dataclass(eq=False)
class Attempt:
    task: Task
    machine: Machine
    sent: float
    returns: float  # when, unless it is given up before
    fails: float  # when that is known
    failed: bool = False


@dataclass(eq=False)
class Task:
    number: int
    done: bool = False
    queued: bool = False
    last_sent: float = -NEVER
    cheap_sent: int = 0  # in the tail
    dear_sent: bool = False
    running: list[Attempt] = field(default_factory=list)

    @property
    def hopeless(self) -> bool:
        """Nobody waits for an attempt of it any more."""
        return all(one.failed for one in self.running)


class Life:
    def __init__(
        self, bag: Bag, strategy: Strategy, terms: Terms, random: Random, step: float
    ) -> None:
        self.bag, self.strategy, self.terms, self.random = bag, strategy, terms, random
        self.step, self.now, self.tail_from = step, 0.0, NEVER
        self.tasks = [Task(number) for number in range(bag.tasks)]
        self.open = list(self.tasks)  # without a result
        self.machines = [Machine(False) for _ in range(bag.cheap)]
        self.machines += [Machine(True) for _ in range(strategy.dear)]
        self.again: list[Task] = []  # before the tail: what failed, where that goes first
        self.queues: dict[bool, list[Task]] = {False: [], True: []}  # by: dear
        self.outcome = Outcome()
        for task in self.tasks:
            self.enqueue(task, dear=False)

    @property
    def in_tail(self) -> bool:
        return self.tail_from < NEVER

    def live(self) -> Outcome:
        ticks = 0
        while True:
            self.now = ticks * self.step
            self.look_at_what_runs()
            if not self.open:
                return self.closed()
            if not self.in_tail and self.here() and len(self.open) < self.bag.cheap:
                self.begin_tail()
            self.enqueue_what_is_due()
            self.serve()
            ticks += 1

    def here(self) -> bool:
        return self.now >= self.terms.cheap_startup

    # (1)

    def look_at_what_runs(self) -> None:
        for machine in self.machines:
            one = machine.attempt
            if one is None:
                continue
            if one.returns <= self.now:
                self.returned(one)
            elif one.fails <= self.now and not one.failed:
                one.failed = True
                if not self.may_be_late(one):
                    self.leave(one)

    def may_be_late(self, one: Attempt) -> bool:
        """Nobody waits for it beyond its time-out, if its task has a result."""
        return self.terms.late and one.returns < NEVER and not one.task.done

    def returned(self, one: Attempt) -> None:
        self.outcome.results += 1
        self.outcome.results_in_time += 1
        self.leave(one)
        task = one.task
        if task.done:
            return
        task.done = True
        self.open.remove(task)
        if task.queued:
            self.unqueue(task)
        if self.terms.cancel:
            for other in list(task.running):
                self.leave(other)

    def leave(self, one: Attempt) -> None:
        one.task.running.remove(one)
        one.machine.attempt, one.machine.idle_since = None, self.now

    # (2)

    def begin_tail(self) -> None:
        """What waits is asked for anew, before what runs, in its order."""
        self.tail_from = self.now
        waiting = [*self.again, *self.queues[False]]
        for task in waiting:
            self.unqueue(task)
        running = [task for task in self.open if task not in waiting]
        self.open = waiting + running

    def enqueue_what_is_due(self) -> None:
        wait = self.strategy.t if self.in_tail else self.bag.patience
        for task in self.open:
            known = bool(self.terms.failures) and task.hopeless
            if not task.queued and (known or task.last_sent + wait <= self.now):
                self.enqueue_next(task)

    def enqueue_next(self, task: Task) -> None:
        if not self.in_tail or task.cheap_sent < self.strategy.n:
            self.enqueue(task, dear=False)
        elif not task.dear_sent:
            self.enqueue(task, dear=True)

    def enqueue(self, task: Task, *, dear: bool) -> None:
        task.queued = True
        first = self.terms.retry_first and not self.in_tail and task.last_sent > -NEVER
        (self.again if first else self.queues[dear]).append(task)

    def unqueue(self, task: Task) -> None:
        task.queued = False
        for queue in (self.again, *self.queues.values()):
            if task in queue:
                queue.remove(task)

    # (3)

    def serve(self) -> None:
        for dear in (False, True):
            queue = self.queues[dear]
            for machine in self.machines:
                if machine.dear is dear and self.is_idle(machine):
                    if not dear and self.again:
                        self.send(self.again[0], machine)
                    elif queue:
                        self.send(queue[0], machine)
            self.lease(dear)

    def send(self, task: Task, machine: Machine) -> None:
        self.unqueue(task)
        d = self.strategy.d if self.in_tail else self.bag.patience
        took, known = self.fate(machine.dear, d)
        one = Attempt(task, machine, self.now, self.now + took, self.now + known)
        machine.attempt = one
        task.running.append(one)
        task.last_sent = self.now
        if machine.dear:
            task.dear_sent = True
            self.outcome.dear_sent += 1
        elif self.in_tail:
            task.cheap_sent += 1

    def fate(self, dear: bool, d: float) -> tuple[float, float]:
        """After how long it returns, and after how long it counts as failed."""
        if dear:
            return self.random.choice(self.bag.dear_turnarounds), NEVER
        if self.random.random() < self.share():
            took = self.random.choice(self.bag.turnarounds)
            return (took if took < d or self.terms.late else NEVER), d
        if not self.terms.failures:
            return NEVER, d
        return NEVER, min(d, self.random.choice(self.terms.failures))

    def share(self) -> float:
        return next(share for since, share in reversed(self.bag.share) if since <= self.now)

    # leases

    def unit(self, dear: bool) -> float:
        return self.terms.dear_unit if dear else self.terms.cheap_unit

    def is_idle(self, machine: Machine) -> bool:
        """One that stands idle at the end of what is paid is given back; what has come or ended its
        last in this very step is offered work before."""
        if machine.attempt is not None:
            return False
        unit = self.unit(machine.dear)
        if not unit:
            return True
        if machine.leased is None or machine.here > self.now:
            return False
        since = max(machine.idle_since, machine.here)
        until = machine.leased + self.paid(since - machine.leased, unit)
        if until <= self.now and since <= self.now - self.step:
            self.give_back(machine, until)
        return machine.leased is not None

    def lease(self, dear: bool) -> None:
        """One for each task that waits, beside those that are on their way."""
        if not self.unit(dear):
            return
        machines = [machine for machine in self.machines if machine.dear is dear]
        coming = sum(one.leased is not None and one.here > self.now for one in machines)
        waiting = len(self.queues[dear]) + (0 if dear else len(self.again))
        startup = self.terms.dear_startup if dear else self.terms.cheap_startup
        free = [one for one in machines if one.leased is None]
        for one in free[: max(waiting - coming, 0)]:
            one.leased, one.here = self.now, self.now + startup

    def paid(self, lasted: float, unit: float) -> float:
        return unit * max(math.ceil(lasted / unit - 1e-9), 1)

    def give_back(self, machine: Machine, when: float) -> None:
        assert machine.leased is not None
        paid = self.paid(when - machine.leased, self.unit(machine.dear))
        if machine.dear:
            self.outcome.dear_leased += paid
        else:
            self.outcome.cheap_leased += paid
        machine.leased = None

    # the end

    def closed(self) -> Outcome:
        self.outcome.makespan, self.outcome.tail = self.now, self.now - self.tail_from
        for machine in self.machines:
            self.is_idle(machine)
            if machine.leased is not None:
                self.give_back(machine, self.now)
        left = [machine.attempt for machine in self.machines if machine.attempt is not None]
        for one in left:  # nobody ends these before their time-out, and what returns is paid
            self.outcome.results += one.returns < NEVER and (one.failed or one.returns < one.fails)
        return self.outcome


def live(
    bag: Bag, strategy: Strategy, terms: Terms = PAPER, *, seed: int = 0, step: float = 1.0
) -> Outcome:
    return Life(bag, strategy, terms, Random(seed), step).live()
