"""Outputs of accepted results that are on their way to their targets.

The last task of a bag (`then`) works with them, so that it begins when they are there.
"""

from __future__ import annotations

from collections.abc import Iterable


class Moving:
    def __init__(self, rows: Iterable[tuple[int, int]] = ()) -> None:
        """Bags and attempts, as the tables have them."""
        self._bag_of: dict[int, int] = {}
        self._count: dict[int, int] = {}  # by bag
        for bag, attempt in rows:
            self.begin(bag, attempt)

    def __contains__(self, bag: int) -> bool:
        return bag in self._count

    def begin(self, bag: int, attempt: int) -> None:
        if attempt not in self._bag_of:
            self._bag_of[attempt] = bag
            self._count[bag] = self._count.get(bag, 0) + 1

    def end(self, attempt: int) -> int | None:
        """The bag of which nothing is on its way any more, if this was the last of it."""
        bag = self._bag_of.pop(attempt, None)
        if bag is None:
            return None
        self._count[bag] -= 1
        if self._count[bag]:
            return None
        del self._count[bag]
        return bag
