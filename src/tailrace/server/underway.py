"""How many tasks of each bag run: told when it changes and nothing that settled tells it anyway.

At most one item of the feed for a bag and a commit, however many attempts were sent with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tailrace.scheduler.state import State
from tailrace.server.tally import running


class Underway:
    def __init__(self) -> None:
        self._told: dict[int, int] = {}  # by bag, while any of it runs

    def told(self, bag: int, count: int) -> None:
        if count:
            self._told[bag] = count
        else:
            self._told.pop(bag, None)

    def news(
        self, state: State, sent: Iterable[int], *, all_bags: bool
    ) -> Iterator[tuple[int, int]]:
        """Bag and count, where it changed, of those that were sent something, or of all."""
        for number in dict.fromkeys([*sent, *(self._told if all_bags else ())]):
            bag = state.bags.get(number)
            count = 0 if bag is None else running(bag)
            if count != self._told.get(number, 0):
                self.told(number, count)
                if bag is not None:
                    yield number, count
