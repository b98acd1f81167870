"""What a matching strategy is asked: which of the open offers take the bag's next tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar, Protocol

from tailrace.scheduler.state import Bag, Host, State

Pick = tuple[Host, int]  # and how many tasks


class Matching(Protocol):
    by_host: ClassVar[bool]  # does each host take what it may, whatever the others would?
    order: ClassVar[str]  # of the bag's tasks: listed, longest or shortest (first)

    def pick(self, state: State, bag: Bag, offers: Collection[Host]) -> Iterator[Pick]:
        """Each pick is carried out before the next is asked for. Sometimes none of what waits may
        go to the host that was picked."""
        ...
