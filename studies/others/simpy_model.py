"""Master and workers in SimPy; times are whole microseconds, as in tailrace."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple

import simpy

Steps = Generator[simpy.Event, Any, None]
Life = Iterable[tuple[int, int]]  # how long a worker is up, then down, in microseconds


def ends_us(speeds: Sequence[float], lengths_us: Sequence[int]) -> list[int]:
    """Of each task, with workers that never fail. `lengths_us` are run times at speed 1."""
    world = simpy.Environment(initial_time=0)
    tasks = simpy.Store(world)
    for task in enumerate(lengths_us):
        tasks.put(task)
    ends = [0] * len(lengths_us)
    workers = [world.process(_work(world, tasks, speed, ends)) for speed in speeds]
    world.run(until=world.all_of(workers))
    return ends


def _work(world: simpy.Environment, tasks: simpy.Store, speed: float, ends: list[int]) -> Steps:
    while tasks.items:
        index, length = yield tasks.get()
        yield world.timeout(_whole(length / speed))
        ends[index] = int(world.now)


def failing_ends_us(
    speeds: Sequence[float],
    lengths_us: Sequence[int],
    lives_us: Sequence[Life],
    *,
    sent_back: bool = False,
) -> list[int]:
    """Of each task, with workers that are up and down for given times, in turn. `sent_back`: a task
    may go to the worker that lost it, as in another system than ours."""
    world = simpy.Environment(initial_time=0)
    bag = _Bag(world, lengths_us, sent_back)
    for number, (speed, life) in enumerate(zip(speeds, lives_us, strict=True)):
        world.process(_live(world, bag, _Worker(number, speed), life))
    world.run(until=bag.empty)
    return bag.ends


class _Worker(NamedTuple):
    number: int
    speed: float


class _Task(NamedTuple):
    number: int
    length_us: int
    lost_by: int | None = None  # the worker that had it last


class _Bag:
    """What a worker had is lost with it, is known at once, and goes before the tasks that were
    never begun: to the worker that has been idle longest, but not to the one that lost it, as long
    as another is up."""

    def __init__(
        self, world: simpy.Environment, lengths_us: Sequence[int], sent_back: bool
    ) -> None:
        self._world = world
        self._sent_back = sent_back
        self._fresh = deque(_Task(index, length) for index, length in enumerate(lengths_us))
        self._lost: dict[int, deque[_Task]] = {}  # by the worker that lost them, oldest first
        self._idle: dict[int, simpy.Event] = {}
        self._up: set[int] = set()
        self._left = len(lengths_us)
        self.ends = [0] * len(lengths_us)
        self.empty = world.event()

    def come(self, worker: int) -> None:
        self._up.add(worker)

    def go(self, worker: int, had: _Task | None) -> None:
        self._up.discard(worker)
        self._idle.pop(worker, None)
        if had is not None:
            self._lost.setdefault(worker, deque()).append(had._replace(lost_by=worker))
        self._hand_out()

    def ask(self, worker: int) -> simpy.Event:
        """Happens with a task."""
        wanted = self._idle[worker] = self._world.event()
        self._hand_out()
        return wanted

    def done(self, task: _Task) -> None:
        self.ends[task.number] = int(self._world.now)
        self._left -= 1
        if not self._left:
            self.empty.succeed()

    def _hand_out(self) -> None:
        for worker in list(self._idle):
            task = self._next(worker)
            if task is not None:
                self._idle.pop(worker).succeed(task)

    def _next(self, worker: int) -> _Task | None:
        for loser, tasks in self._lost.items():
            if loser != worker or self._up == {worker} or self._sent_back:
                task = tasks.popleft()
                if not tasks:
                    del self._lost[loser]
                return task
        return self._fresh.popleft() if self._fresh else None


def _live(world: simpy.Environment, bag: _Bag, worker: _Worker, life: Life) -> Steps:
    for up_us, down_us in life:
        bag.come(worker.number)
        yield from _while_up(world, bag, worker, world.timeout(up_us))
        yield world.timeout(down_us)
    raise ValueError(f"worker {worker.number} has outlived the times that were given")


def _while_up(world: simpy.Environment, bag: _Bag, worker: _Worker, fails: simpy.Event) -> Steps:
    while True:
        wanted = bag.ask(worker.number)
        yield wanted | fails
        if not wanted.triggered:
            bag.go(worker.number, None)
            return
        task: Any = wanted.value
        ends = world.timeout(_whole(task.length_us / worker.speed))
        yield ends | fails
        if not ends.processed:
            bag.go(worker.number, task)
            return
        bag.done(task)


def _whole(us: float) -> int:
    return int(us + 0.5)
