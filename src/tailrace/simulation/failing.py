"""Which attempts end with a failure of their task: some tasks always fail, others now and then."""

from __future__ import annotations

import numpy as np

from tailrace.scheduler.events import Measured
from tailrace.simulation.draws import Streams
from tailrace.simulation.scenario import Tasks
from tailrace.simulation.workload import evenly

TEXT = "it fails in this scenario"


class Failing:
    """Of one bag."""

    def __init__(self, tasks: Tasks, streams: Streams) -> None:
        u = streams.stream("failing tasks").array(tasks.terms.count)
        drawn = evenly(u) if tasks.even else u
        self._always: bytes = (drawn < tasks.failing.tasks).astype(np.uint8).tobytes()
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
        if tasks.failing.tasks or tasks.failing.attempts
    }
