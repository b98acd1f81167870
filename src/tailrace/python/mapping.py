"""The results of `map`, in order, while the arguments are still being read."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from tailrace.errors import BadInput
from tailrace.python.answers import Answers
from tailrace.python.calls import bag_of
from tailrace.python.pickling import function_bytes, name_of, pickled
from tailrace.python.session import Session

AHEAD = 100_000  # calls handed in whose results have not been taken
FIRST, MOST = 20_000, 50_000  # in a bag: so many are in memory while they are pickled


class Part:
    """One bag of the map."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.answers = Answers(count)
        self.number = 0
        self.unwanted = False


class Mapping(Iterator[Any]):
    """An iterator over results. Closed early, or after an exception, it cancels what is left."""

    def __init__(
        self,
        session: Session,
        fields: dict[str, Any],
        runners: str,
        function: Callable[..., Any],
        iterables: tuple[Iterable[Any], ...],
        timeout: float | None,
        ahead: int | None,
    ) -> None:
        if not iterables:
            raise BadInput("map has nothing to go over", remedy="Give an iterable: map(f, items).")
        self._session, self._fields, self._runners = session, fields, runners
        self._name, self._function = name_of(function), function_bytes(function)
        self._arguments = zip(*iterables, strict=False)
        self._until = None if timeout is None else time.monotonic() + timeout
        self._ahead = AHEAD if ahead is None else max(ahead, 1)
        self._parts: deque[Part] = deque()
        self._waiting = 0  # handed in, not taken
        self._next = 0  # in the first part
        self._exhausted = False
        self._fill()

    def __iter__(self) -> Mapping:
        return self

    def __next__(self) -> Any:
        self._fill()
        if not self._parts:
            raise StopIteration
        part = self._parts[0]
        try:
            part.answers.wait(self._next, self._until)
            value = part.answers.take(self._next)
        except BaseException:
            self.close()
            raise
        self._taken_one(part)
        return value

    def _taken_one(self, part: Part) -> None:
        self._next += 1
        self._waiting -= 1
        if self._next == part.count:
            self._parts.popleft()
            self._next = 0

    def _fill(self) -> None:
        """Half of what may wait is missing: more is handed in."""
        while not self._exhausted and self._waiting <= self._ahead // 2:
            most = MOST if self._waiting else FIRST
            size = min(most, self._ahead - self._waiting)
            items = [pickled(arguments) for arguments in islice(self._arguments, size)]
            self._exhausted = len(items) < size
            if items:
                self._hand_in(items)

    def _hand_in(self, items: list[bytes]) -> None:
        part = Part(len(items))
        bag = bag_of(self._name, self._function, items, self._fields, self._runners)
        self._parts.append(part)
        self._waiting += part.count
        self._session.submit(bag, part.answers, lambda number: self._taken(part, number))

    def _taken(self, part: Part, number: int) -> None:
        """On the session's thread."""
        part.number = number
        if part.unwanted:
            self._session.cancel(number)

    def close(self) -> None:
        """Nobody wants the rest."""
        self._exhausted = True
        parts, self._parts = self._parts, deque()
        for part in parts:
            part.unwanted = True
            if part.number:
                self._session.cancel(part.number)

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # the session has ended before
