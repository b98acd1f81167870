"""How long a task occupies its slot beyond its run time, and how long a task and its result travel.

A worker says how long a task ran, not when it began: it may have lain ready on its host. Where many
did, the slots are filled again in the order in which they were sent, and the time between two tasks
is the one with which the last of them ends when it really did. A task that was sent to a free slot
took longer than that, by the way to the machine and back; those that lie ready are spared it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from statistics import fmean, median
from typing import NamedTuple

ENOUGH = 5_000  # attempts: more would not say it better
HALVINGS = 30
MANY = 3  # tasks for each slot
FEW = 5


class Held(NamedTuple):
    """An attempt of a machine."""

    sent_us: int
    ended_us: int
    run_us: int

    @property
    def beyond_us(self) -> int:
        return self.ended_us - self.sent_us - self.run_us


class Occupancy(NamedTuple):
    between_us: int
    travel_us: int
    scatter_us: tuple[int, ...] = ()  # by how much it is more or less for some, in all nothing


class Stretch(NamedTuple):
    """Attempts from one that found a free slot up to the next such."""

    busy: list[int]  # when each of the other slots becomes free
    held: list[Held]


def occupancy(machines: list[list[Held]], slots: int) -> Occupancy:
    """Of machines that each had these attempts, in the order they were sent."""
    every = [list(_stretches(held, slots)) for held in _enough(machines)]
    alone = [us for stretches in every for us in _alone_us(stretches, slots)]
    beyond = float(median(alone)) if alone else 0.0
    long = [one for stretches in every for one in stretches if len(one.held) >= MANY * slots]
    if not long:
        return Occupancy(round(beyond), 0, _scatter_us(alone))
    total = sum(len(one.held) * _between(one, slots, beyond) for one in long)
    between = total / sum(len(one.held) for one in long)
    return Occupancy(round(between), round(max(beyond - between, 0.0)), _scatter_us(alone))


def _scatter_us(beyond: list[int]) -> tuple[int, ...]:
    """A few that stand for all, without the most extreme ones."""
    if len(beyond) < FEW:
        return ()
    ascending = sorted(beyond)
    chosen = [ascending[(2 * n + 1) * len(beyond) // (2 * FEW)] for n in range(FEW)]
    middle = round(fmean(chosen))
    return tuple(us - middle for us in chosen)


def _alone_us(stretches: list[Stretch], slots: int) -> Iterator[int]:
    """By how much those took longer behind which none lay ready: their results are sent at once. A
    machine is not warm when its first task comes."""
    for stretch in stretches[1:]:
        if len(stretch.held) <= slots:
            yield from (one.beyond_us for one in stretch.held)


def _enough(machines: list[list[Held]]) -> Iterator[list[Held]]:
    count = 0
    for held in machines:
        if count < ENOUGH:
            yield held[:ENOUGH]
            count += len(held)


def _stretches(held: list[Held], slots: int) -> Iterator[Stretch]:
    live: list[int] = []  # when each ends that was sent before
    stretch: Stretch | None = None
    for one in held:
        while live and live[0] <= one.sent_us:
            heapq.heappop(live)
        if stretch is None or (len(live) < slots and one.sent_us > stretch.held[-1].sent_us):
            if stretch is not None:
                yield stretch
            stretch = Stretch(list(live), [])
        stretch.held.append(one)
        heapq.heappush(live, one.ended_us)
    if stretch is not None:
        yield stretch


def _between(stretch: Stretch, slots: int, beyond_us: float) -> float:
    """By halving: the later the tasks begin, the later the last one ends."""
    ended = max(one.ended_us for one in stretch.held)
    low, high = 0.0, float(max(one.beyond_us for one in stretch.held))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _last_end(stretch, slots, middle, max(beyond_us - middle, 0.0)) < ended:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _last_end(stretch: Stretch, slots: int, between_us: float, travel_us: float) -> float:
    free: list[float] = [*stretch.busy, *[0.0] * (slots - len(stretch.busy))]
    heapq.heapify(free)
    last = 0.0
    for one in stretch.held:
        begins = max(heapq.heappop(free), one.sent_us + travel_us)
        ends = begins + one.run_us + between_us
        heapq.heappush(free, ends)
        last = max(last, ends)
    return last
