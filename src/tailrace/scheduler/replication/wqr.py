"""Work queue with replication: when nothing is left to send, idle hosts repeat what is still out.

The task with the fewest attempts out comes first, then the one that is out the longest; never twice
on one host, and never more than `most` at once (da Silva, Cirne, Brasileiro 2003).
"""

from __future__ import annotations

from tailrace.scheduler import admission, policies
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.state import Bag, Host, State


@mypyc_attr(allow_interpreted_subclasses=True)
class WorkQueueWithReplication(Replication):
    name = "wqr"

    def __init__(self, most: int = 2) -> None:
        if most < 1:
            raise ValueError(f"most is {most}, but must be 1 (nothing is replicated) or more")
        self._most = most
        self._tail = False  # from then on the tasks that are out are kept by their attempts
        self._by_count: dict[int, dict[int, None]] = {}

    def wants(self, bag: Bag, reliable: bool) -> bool:
        if not bag.runs or bag.unsent or not bag.live:
            return False
        counts = range(1, self._most)
        return not self._tail or any(self._by_count.get(count) for count in counts)

    def take(self, state: State, bag: Bag, host: Host) -> int | None:
        if not self._tail:
            self._begin(bag)
        for count in range(1, self._most):
            for index in self._by_count.get(count, ()):
                elsewhere = all(attempt.host != host.id for attempt in bag.live[index])
                if not elsewhere or not admission.may_repeat(state, bag, host, index):
                    continue
                if policies.may_be_wanted(state, bag, host, index):
                    return index
        return None

    def _begin(self, bag: Bag) -> None:
        self._tail, self._by_count = True, {}
        for index, attempts in bag.live.items():
            if index not in bag.done:
                self._put(index, len(attempts))

    def _put(self, index: int, count: int) -> None:
        if count:
            self._by_count.setdefault(count, {})[index] = None

    def _move(self, index: int, before: int, after: int) -> None:
        self._by_count.get(before, {}).pop(index, None)
        self._put(index, after)

    def sent(self, state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
        if self._tail:
            count = len(bag.live[attempt.index])
            self._move(attempt.index, count - 1, count)

    def over(self, state: State, bag: Bag, attempt: Attempt, succeeded: bool) -> None:
        if self._tail and attempt.index not in bag.done:
            count = len(bag.live.get(attempt.index, ()))
            self._move(attempt.index, count + 1, count)

    def settled(self, state: State, bag: Bag, index: int) -> None:
        if self._tail:
            for tasks in self._by_count.values():
                tasks.pop(index, None)
