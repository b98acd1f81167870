"""Master and workers in SimPy; times are whole microseconds, as in tailrace."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from random import Random
from typing import Any

import simpy

Steps = Generator[simpy.Event, Any, None]
Draw = Callable[[], int]


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


def failing_makespan_us(
    speeds: Sequence[float], lengths_us: Sequence[int], up_us: float, down_us: float, seed: int
) -> int:
    """Of workers up and down for exponential times. What a worker had is lost with it, is known at
    once, and goes before the tasks that were never begun."""
    world = simpy.Environment(initial_time=0)
    bag = _Bag(world, lengths_us)
    for number, speed in enumerate(speeds):
        chance = Random(f"{seed}/{number}")  # text, so that near seeds are far apart
        up, down = _exponential(chance, up_us), _exponential(chance, down_us)
        world.process(_live(world, bag, speed, up, down))
    world.run(until=bag.empty)
    return int(world.now)


class _Bag:
    def __init__(self, world: simpy.Environment, lengths_us: Sequence[int]) -> None:
        self.queue = simpy.PriorityStore(world)
        self.left = len(lengths_us)
        self.empty = world.event()
        for index, length in enumerate(lengths_us):
            self.queue.put(simpy.PriorityItem((1, index), length))

    def put_back(self, item: simpy.PriorityItem) -> None:
        self.queue.put(simpy.PriorityItem((0, item.priority[1]), item.item))

    def done(self) -> None:
        self.left -= 1
        if not self.left:
            self.empty.succeed()


def _live(world: simpy.Environment, bag: _Bag, speed: float, up: Draw, down: Draw) -> Steps:
    while True:
        yield from _while_up(world, bag, speed, world.timeout(up()))
        yield world.timeout(down())


def _while_up(world: simpy.Environment, bag: _Bag, speed: float, fails: simpy.Event) -> Steps:
    while True:
        wanted = bag.queue.get()
        yield wanted | fails
        if not wanted.triggered:
            wanted.cancel()
            return
        task: Any = wanted.value
        ends = world.timeout(_whole(task.item / speed))
        yield ends | fails
        if not ends.processed:
            bag.put_back(task)
            return
        bag.done()


def _exponential(chance: Random, mean_us: float) -> Draw:
    return lambda: _whole(chance.expovariate(1 / mean_us))


def _whole(us: float) -> int:
    return int(us + 0.5)
