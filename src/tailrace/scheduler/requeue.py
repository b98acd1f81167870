"""Tasks that wait for another attempt.

They are kept in groups of those that may go to the same hosts, so that an offer looks at each group
once, not at each task: a hundred thousand lost tasks cost an offer one look.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from tailrace.policy.attributes import Plain


class Group(NamedTuple):
    """What decides where a waiting task may go."""

    avoid: tuple[str, ...] = ()  # hosts where it failed
    needs: tuple[tuple[str, int], ...] | None = None  # when they have grown
    reliable: bool = False  # wanted on a reliable pool
    at_once: bool = False  # only where it begins at once
    job: tuple[Plain, ...] = ()  # what its bag's policy looks at of it


class Requeue:
    def __init__(self) -> None:
        # Groups come and go at the front, where a plain dict would pile up holes.
        self._groups: OrderedDict[Group, deque[int]] = OrderedDict()
        self.waiting: dict[int, Group] = {}  # by task
        self.at_once = 0  # of those: only where they begin at once
        self.reliable = 0  # of those: wanted on a reliable pool
        self.bound = 0  # of the others: not every host will do
        self.groups: dict[Group, int] = {}  # how many wait in each of these two kinds

    def add(self, index: int, group: Group) -> None:
        if self.waiting.get(index) == group:
            return
        self.remove(index)
        self.waiting[index] = group
        self._count(group, 1)
        self._groups.setdefault(group, deque()).append(index)

    def regroup(self, anew: Callable[[int, Group], Group]) -> None:
        """All of them. Groups that were, and are empty now, must not be asked about: what the bag's
        policy looks at may have changed."""
        before = self.waiting
        self._groups.clear()
        self.waiting, self.groups = {}, {}
        self.at_once = self.reliable = self.bound = 0
        for index, group in before.items():
            self.add(index, anew(index, group))

    def remove(self, index: int) -> None:
        """Forgotten here at once, and passed over when its turn comes in the group."""
        group = self.waiting.pop(index, None)
        if group is not None:
            self._count(group, -1)

    def _count(self, group: Group, more: int) -> None:
        self.at_once += more * group.at_once
        self.reliable += more * group.reliable
        choosy = bool(group.avoid or group.needs or group.job)
        self.bound += more * (not group.reliable and choosy)
        if group.reliable or choosy:
            count = self.groups[group] = self.groups.get(group, 0) + more
            if not count:
                del self.groups[group]

    @property
    def plain(self) -> int:
        """Those that may go to any host."""
        return len(self.waiting) - self.reliable - self.bound

    def take(self, admits: Callable[[Group], bool]) -> tuple[int, Group] | None:
        """The first task of the first group that may go."""
        found: tuple[int, Group] | None = None
        spent = []
        for group, queue in self._groups.items():
            if admits(group):
                index = self._pop(group, queue)
                if not queue:
                    spent.append(group)
                if index is not None:
                    found = index, group
                    break
        for group in spent:
            del self._groups[group]
        return found

    def _pop(self, group: Group, queue: deque[int]) -> int | None:
        while queue:
            index = queue.popleft()
            if self.waiting.get(index) == group:
                self.remove(index)
                return index
        return None
