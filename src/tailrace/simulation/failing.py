"""Which attempts end with a failure of their task: some tasks always fail, others now and then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.scheduler.events import Measured
from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import Floats
from tailrace.simulation.scenario import Tasks
from tailrace.simulation.workload import Given, draw_lengths, evenly

TEXT = "it fails in this scenario"


def always_failing(tasks: Tasks, streams: Streams) -> NDArray[np.bool_]:
    """Of each task of the bag, whether it fails whenever it is tried."""
    count, failing = tasks.terms.count, tasks.failing
    u = streams.stream("failing tasks").array(count)
    found = np.asarray((evenly(u) if tasks.even else u) < failing.tasks)
    if failing.known is not None and isinstance(tasks.lengths, Given):
        found &= ~tasks.lengths.knows(count)
        found[[task for task in failing.known if task < count]] = True
    return found


def task_lengths(tasks: Tasks, streams: Streams) -> Floats:
    """Of all tasks of a bag; those that fail may have a law of their own."""
    count, law = tasks.terms.count, tasks.failing.lengths
    if law is None:
        return draw_lengths(tasks.lengths, count, streams, even=tasks.even)
    fails = always_failing(tasks, streams)
    few = int(fails.sum())
    lengths = np.empty(count, np.float64)
    lengths[~fails] = draw_lengths(tasks.lengths, count - few, streams, even=tasks.even)
    lengths[fails] = draw_lengths(law, few, streams.below("failing"), even=tasks.even)
    return lengths


class Failing:
    """Of one bag."""

    def __init__(self, tasks: Tasks, streams: Streams) -> None:
        self._always: bytes = always_failing(tasks, streams).astype(np.uint8).tobytes()
        self._share = tasks.failing.attempts
        self._draw = streams.stream("failing attempts").uniforms() if self._share else None

    def fails(self, index: int) -> bool:
        if self._always[index]:
            return True
        return self._draw is not None and self._draw() < self._share


def failure(ran_us: int) -> Measured:
    return Measured(ran_us, 1, text=TEXT)


def failing_of(bags: tuple[Tasks, ...], streams: Streams) -> dict[int, Failing]:
    """By the bags' numbers; those without failures are left out."""
    return {
        number: Failing(tasks, streams.below("bag", number))
        for number, tasks in enumerate(bags, 1)
        if tasks.failing.tasks or tasks.failing.attempts or tasks.failing.known
    }
