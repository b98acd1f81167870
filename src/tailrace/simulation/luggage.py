"""What travels with the tasks of a running world, and what is saved of them on the way."""

from __future__ import annotations

from array import array

import numpy as np

from tailrace.bag.needs import Amounts
from tailrace.simulation.checkpoints import Checkpoints
from tailrace.simulation.draws import Streams
from tailrace.simulation.files import NO_FILES, Files
from tailrace.simulation.job import Job
from tailrace.simulation.laws import Law
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.storage import Storage


class Luggage:
    """Of the tasks of one bag, in a running world."""

    def __init__(self, files: Files, count: int, needs: Amounts, streams: Streams) -> None:
        self.needs = needs  # of each of its tasks
        self.saving = files.saving
        self._inputs = _sizes(files.input, count, streams, "input")
        self._outputs = _sizes(files.output, count, streams, "output")
        self._checkpoints = Checkpoints()
        self._kept = bytearray(count)  # its output is stored
        self._over = bytearray(count)  # it has its result

    def input(self, index: int) -> int:
        """With the checkpoint from which it goes on."""
        size = self._inputs[index] if self._inputs else 0
        return size + self.saving.size if self.saving and index in self._checkpoints else size

    def output(self, index: int) -> int:
        return self._outputs[index] if self._outputs else 0

    def resume(self, job: Job) -> None:
        """From the checkpoint of its task, if there is one."""
        if self.saving is not None and not self._over[job.tag.index]:
            self._checkpoints.resume(job)

    def recovery_us(self, job: Job) -> int:
        return self.saving.recovery_us if self.saving and job.saved else 0

    def save(self, job: Job, storage: Storage) -> None:
        """Its checkpoint is available; or not, if there is no room, or nobody wants it any more."""
        index: int = job.tag.index
        if self._over[index] or not self._has_room(index, storage):
            job.saved = job.begun
        else:
            self._checkpoints.add(job)

    def _has_room(self, index: int, storage: Storage) -> bool:
        """It takes the place of an older one."""
        size = self.saving.size if self.saving is not None else 0
        return index in self._checkpoints or storage.store(size)

    def settle(self, index: int, winner: int | None, storage: Storage) -> None:
        """It has its result, that of this attempt; or none, when it was given up."""
        self._over[index] = 1
        if self.saving is not None and self._checkpoints.settle(index, winner):
            storage.remove(self.saving.size)

    def keep(self, index: int, storage: Storage) -> None:
        """The output has arrived; a second one of the same task takes the place of the first."""
        if self._kept[index]:
            storage.remove(self.output(index))
        self._kept[index] = 1


def _sizes(law: Law | None, count: int, streams: Streams, name: str) -> array[int] | None:
    if law is None:
        return None
    drawn = np.maximum(np.rint(streams.stream(name).values(law, count)), 0).astype(np.int64)
    return array("q", drawn.tobytes())


def luggage_of(scenario: Scenario, streams: Streams) -> list[Luggage]:
    """Of each bag; none at all if no bag has any."""
    if all(tasks.files == NO_FILES for tasks in scenario.bags):
        return []
    return [
        Luggage(tasks.files, tasks.terms.count, tasks.terms.needs, streams.below("bag", number))
        for number, tasks in enumerate(scenario.bags, 1)
    ]  # fmt: skip
