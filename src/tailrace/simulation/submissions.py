"""Bags as they come into the virtual world: how long each task takes where, and when it arrives."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tailrace.bag.terms import Terms
from tailrace.scheduler.events import BagSubmitted, TasksArrived
from tailrace.scheduler.strategies import matching
from tailrace.simulation.draws import Streams, microseconds
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.failing import task_lengths
from tailrace.simulation.record import Record
from tailrace.simulation.scenario import Scenario, Tasks
from tailrace.simulation.seeds import seed_of
from tailrace.simulation.telling import Teller
from tailrace.simulation.workload import Workload

Works = dict[str, "array[int]"]  # by pool: of each task, in reference-µs


class Submissions:
    def __init__(
        self, scenario: Scenario, engine: Engine, streams: Streams, teller: Teller
    ) -> None:
        self.works: list[Works] = []  # of each bag
        self.records: list[Record] = []
        self._scenario, self._engine = scenario, engine
        self._streams, self._teller = streams, teller

    def begin(self) -> None:
        for number, tasks in enumerate(self._scenario.bags, 1):
            self.works.append(self._works(number, tasks))
            self.records.append(Record(tasks.terms.count))
            self._engine.put(tasks.submitted_us, Rank.ARRIVAL, self._submit, number)

    def _works(self, bag: int, tasks: Tasks) -> Works:
        """In µs, and never less than one: no task takes less than nothing."""
        streams = self._streams.below("bag", bag)
        lengths = task_lengths(tasks, streams)
        types = {machines.terms.name: machines.type for machines in self._scenario.pools}
        workload = Workload(lengths, types, streams)
        works = {}
        for name in types:
            with np.errstate(over="ignore"):  # a long task with a large factor
                us = microseconds(workload.seconds(name))
            np.maximum(us, 1, out=us)
            works[name] = array("q")
            works[name].frombytes(us.data.cast("B"))
        return works

    def _submit(self, bag: int) -> None:
        tasks = self._scenario.bags[bag - 1]
        count, now = tasks.terms.count, self._engine.now
        times = self._streams.stream("arrivals", bag).times(tasks.arrivals)
        record, arrived = self.records[bag - 1], 0
        while arrived < count and (due := now + next(times)) <= now:
            record.arrived[arrived] = due
            arrived += 1
        some = None if arrived == count else arrived
        order, columns = self._order(bag), tasks.columns
        self._teller.tell(BagSubmitted(bag, self._terms(bag), order, some, columns=columns))
        if arrived < count:
            self._engine.put(due, Rank.ARRIVAL, self._arrive, (bag, arrived, now, times))

    def _terms(self, bag: int) -> Terms:
        """Shuffled anew for each seed of the run, unless the bag has one of its own."""
        tasks = self._scenario.bags[bag - 1]
        if not tasks.shuffled:
            return tasks.terms
        seed = seed_of(self._streams.below("bag", bag).stream("order"))
        return replace(tasks.terms, order_seed=seed)

    def _order(self, bag: int) -> bytes | None:
        """Longest or shortest first, where the matching asks for that."""
        wanted = matching(self._scenario.bags[bag - 1].terms.matching).order
        if wanted == "listed":
            return None
        work = np.frombuffer(self.works[bag - 1][self._scenario.pools[0].terms.name], np.int64)
        if self._scenario.bags[bag - 1].terms.last:
            work = work[:-1]  # the last has its place
        keys = -work if wanted == "longest" else work
        return np.argsort(keys, kind="stable").astype(np.uint32).tobytes()

    def _arrive(self, what: tuple[int, int, int, Iterator[int]]) -> None:
        """A task has come, and with it all others of this moment."""
        bag, arrived, since, times = what
        record, now = self.records[bag - 1], self._engine.now
        count, due = self._scenario.bags[bag - 1].terms.count, now
        while due <= now:
            record.arrived[arrived] = now
            arrived += 1
            if arrived == count:
                break
            due = since + next(times)
        self._teller.tell(TasksArrived(bag, arrived))
        if arrived < count:
            self._engine.put(due, Rank.ARRIVAL, self._arrive, (bag, arrived, since, times))
