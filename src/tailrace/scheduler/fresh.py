"""Tasks that were never sent: those that have arrived, in the order of the bag.

Most bags are there as a whole, and a position in their order says it all. In an open bag the tasks
come in the order of their numbers; where another order is wanted, those that are there wait in a
heap, by their rank in it.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable

from tailrace.bag.order import Listed, Order


class Fresh:
    """`sent` counts the tasks that were sent at least once: positions of the order below it."""

    __slots__ = ("_at", "arrived", "sent")

    def __init__(self, order: Order, arrived: int) -> None:
        self.sent = 0
        self.arrived = arrived
        self._at: Callable[[int], int] = order.at

    @property
    def left(self) -> int:
        return self.arrived - self.sent

    def take(self) -> int:
        position, at = self.sent, self._at
        self.sent = position + 1
        return at(position)

    def arrive(self, arrived: int) -> None:
        self.arrived = arrived

    def grow(self, order: Order) -> None:
        """More stand behind those there were."""
        self._at = order.at
        self.arrived = len(order)

    def restore(self, sent: int, known: Callable[[int], bool]) -> None:
        """So many were sent before: those that are known."""
        self.sent = sent


class Ranked(Fresh):
    __slots__ = ("_heap", "_ranks")

    def __init__(self, order: Order, arrived: int) -> None:
        super().__init__(order, 0)
        self._ranks = array("I", bytes(4 * len(order)))
        for rank in range(len(order)):
            self._ranks[order.at(rank)] = rank
        self._heap: list[int] = []
        self.arrive(arrived)

    def take(self) -> int:
        self.sent += 1
        return self._at(heapq.heappop(self._heap))

    def arrive(self, arrived: int) -> None:
        for index in range(self.arrived, arrived):
            heapq.heappush(self._heap, self._ranks[index])
        self.arrived = arrived

    def restore(self, sent: int, known: Callable[[int], bool]) -> None:
        self.sent = sent
        self._heap = [self._ranks[index] for index in range(self.arrived) if not known(index)]
        heapq.heapify(self._heap)


class Scattered(Fresh):
    """Of a bag whose results came in part from earlier ones: those that are known are passed over,
    wherever they stand in the order. They count as sent from the beginning."""

    __slots__ = ("_known", "_leap", "_position")

    def __init__(
        self,
        order: Order,
        taken: int,
        known: Callable[[int], bool],
        leap: Callable[[int], int] | None,
    ) -> None:
        """`leap` finds the next that has no result, where tasks stand in the order of numbers."""
        super().__init__(order, len(order))
        self.sent = taken
        self._known = known
        self._leap = leap
        self._position = 0

    def grow(self, order: Order) -> None:
        super().grow(order)
        if not isinstance(order, Listed):
            self._leap = None

    def take(self) -> int:
        position, leap = self._position, self._leap
        while True:
            if leap is not None:
                position = leap(position)
            index = self._at(position)
            position += 1
            if not self._known(index):
                break
        self._position = position
        self.sent += 1
        return index


def fresh(order: Order, arrived: int | None, *, ranked: bool) -> Fresh:
    if arrived is None:
        return Fresh(order, len(order))
    return Ranked(order, arrived) if ranked else Fresh(order, arrived)
