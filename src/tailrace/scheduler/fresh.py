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

AHEAD = 4096  # places that are looked at together


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


class Grouped(Fresh):
    """Of a bag whose policy looks at parameters: by groups of those that look the same to it. Each
    group is sent in the order of the bag; which of them is next, a host decides.

    The group of each place in the order is a byte, so that the next of a group is found by a quick
    search; where tasks stand in another order than that of their numbers, these bytes are written
    down as far as somebody has looked."""

    __slots__ = ("_groups", "_heads", "_known", "_listed", "_placed", "left_in")

    def __init__(
        self, order: Order, sent: int, groups: bytes, most: int, known: Callable[[int], bool]
    ) -> None:
        """`groups`: a byte for each task, by its number, below `most`."""
        super().__init__(order, len(order))
        self._known = known
        self._groups = groups
        self._placed = bytearray()  # by place; nothing, where they stand in the order of numbers
        self._heads = [0] * most  # by group: none was never sent before this place
        self.left_in: list[int] = []  # how many of each group were never sent
        self._listed = isinstance(order, Listed)
        self.restore(sent, known)

    def restore(self, sent: int, known: Callable[[int], bool]) -> None:
        self.sent = sent
        groups = self._groups
        self._heads = [0] * len(self._heads)
        self.left_in = [groups.count(group) for group in range(len(self._heads))]
        for index in range(len(groups)) if sent else ():
            if known(index):
                self.left_in[groups[index]] -= 1

    def near(self) -> list[tuple[int, int]]:
        """Groups of which something is left, each behind a place before which none of it stands:
        the least first."""
        return sorted((self._at_least(group), group) for group in self.groups())

    def groups(self) -> list[int]:
        return [group for group, left in enumerate(self.left_in) if left]

    def head(self, group: int) -> int:
        """The place of its next, of which there is one."""
        place = self._at_least(group)
        while place == self._seen or self._known(self._at(place)):
            if place == self._seen:
                self._look_on()
            else:
                self._heads[group] = place + 1
            place = self._at_least(group)
        return place

    def take_of(self, group: int) -> int:
        place = self.head(group)
        self._heads[group] = place + 1
        self.left_in[group] -= 1
        self.sent += 1
        return self._at(place)

    def take(self) -> int:
        """The next, of whatever group."""
        return self.take_of(min(self.groups(), key=self.head))

    @property
    def _seen(self) -> int:
        """So many places are searched."""
        return len(self._groups) if self._listed else len(self._placed)

    def _at_least(self, group: int) -> int:
        if self._listed:
            found = self._groups.find(group, self._heads[group])
        else:
            found = self._placed.find(group, self._heads[group])
        self._heads[group] = place = self._seen if found < 0 else found
        return place

    def _look_on(self) -> None:
        first, at, groups = len(self._placed), self._at, self._groups
        if self._seen == len(groups):
            raise LookupError("no task of the group is left")
        places = range(first, min(first + AHEAD, len(groups)))
        self._placed += bytes([groups[at(place)] for place in places])


def fresh(order: Order, arrived: int | None, *, ranked: bool) -> Fresh:
    if arrived is None:
        return Fresh(order, len(order))
    return Ranked(order, arrived) if ranked else Fresh(order, arrived)
