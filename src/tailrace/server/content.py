"""What the tasks of stored bags are, read when they are sent."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any

from msgspec.structs import replace

from tailrace.bag import then
from tailrace.bag.bag import Bag
from tailrace.bag.spec import FileName
from tailrace.bag.task import Input, Task
from tailrace.server.catalogues import Catalogues
from tailrace.server.fitting import fitted
from tailrace.server.people.sealed import Sealed
from tailrace.server.protocol import WorkResult, decode_result
from tailrace.server.tables.store import Store

KEPT = 64  # bags in memory


class Contents:
    def __init__(self, store: Store, scratch: str, catalogues: Catalogues, sealed: Sealed) -> None:
        self._store = store
        self._scratch = scratch
        self._catalogues = catalogues
        self._sealed = sealed
        self._bags: OrderedDict[int, Bag] = OrderedDict()
        self._shared: OrderedDict[int, dict[str, Any]] = OrderedDict()

    def bag(self, number: int, index: int = 0) -> Bag:
        """With this task: what is known of one that has grown since is read again."""
        bag = self._bags.get(number)
        if bag is None or index >= bag.count:
            read = partial(self._store.chunk, number)
            bag = Bag.decode(self._store.spec(number), read, number)
            self._bags[number] = bag
            _keep_some(self._bags)
        return bag

    def task(self, number: int, index: int) -> Task:
        bag = self.bag(number, index)
        task = bag.task(index)
        if bag.spec.catalogue is None or not (task.inputs or task.last):
            return task
        if task.last:
            return replace(task, inputs=self._of_all(bag, bag.spec.catalogue))
        inputs = self._catalogues.inputs(number, bag.spec.catalogue, task)
        return replace(task, inputs=inputs)

    def _of_all(self, bag: Bag, name: FileName) -> tuple[Input, ...]:
        """All that came from the bag's folder, and over that what its tasks left."""
        known = self._catalogues.of(bag.number, name)
        found = {item.name: item for item in then.brought(known, bag.spec.folder)}
        for index, body in self._store.successes(bag.number) if bag.spec.outputs else ():
            left = {file.name: file for file in decode_result(body).outputs}
            if index != bag.last:
                for output in bag.outputs(index, left):
                    file = left[output.name]
                    found[output.target] = Input(output.target, "", file.hash, file.size)
        return tuple(found.values())

    def fitted(self, number: int, result: WorkResult) -> WorkResult:
        spec = self.bag(number).spec
        return fitted(result, spec.keep_output, call=spec.function is not None)

    def shared(self, number: int) -> dict[str, Any]:
        found = self._shared.get(number)
        if found is None:
            found = self._shared[number] = self.bag(number).shared()
            if self.bag(number).spec.secrets:
                found["secrets"] = self._sealed.of(number)
            if "travels" not in found:  # else each worker has a place of its own
                found["scratch"] = self._scratch
            _keep_some(self._shared)
        return found


def _keep_some(kept: OrderedDict[int, Any]) -> None:
    """A server has thousands of bags in its life, and works on the last few."""
    if len(kept) > KEPT:
        kept.popitem(last=False)
