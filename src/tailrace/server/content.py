"""What the tasks of stored bags are, read when they are sent."""

from __future__ import annotations

from functools import partial
from typing import Any

from tailrace.bag.bag import Bag
from tailrace.bag.task import Task
from tailrace.server.store import Store


class Contents:
    def __init__(self, store: Store, scratch: str) -> None:
        self._store = store
        self._scratch = scratch
        self._bags: dict[int, Bag] = {}
        self._shared: dict[int, dict[str, Any]] = {}

    def bag(self, number: int) -> Bag:
        bag = self._bags.get(number)
        if bag is None:
            bag = Bag.decode(self._store.spec(number), partial(self._store.chunk, number))
            self._bags[number] = bag
        return bag

    def task(self, number: int, index: int) -> Task:
        return self.bag(number).task(index)

    def shared(self, number: int) -> dict[str, Any]:
        found = self._shared.get(number)
        if found is None:
            found = self._shared[number] = {**self.bag(number).shared(), "scratch": self._scratch}
        return found
