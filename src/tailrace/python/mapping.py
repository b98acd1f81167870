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
AHEAD_BYTES = 256 << 20  # of their arguments
FIRST, MOST = 20_000, 50_000  # in a bag: so many are in memory while they are pickled
BAG_BYTES = 8 << 20  # or so much of their arguments
READ_S = 0.1  # a slow source is not waited for longer: what has been read is handed in


class Part:
    """One bag of the map."""

    def __init__(self, answers: Answers, size: int) -> None:
        self.count = answers.count
        self.size = size  # in bytes, pickled
        self.answers = answers
        self.number = 0
        self.unwanted = False


class Mapping(Iterator[Any]):
    """An iterator over results. Closed early, or after an exception, it cancels what is left."""

    def __init__(
        self,
        session: Session,
        answers: Callable[[int], Answers],
        fields: dict[str, Any],
        runners: str,
        function: Callable[..., Any],
        iterables: tuple[Iterable[Any], ...],
        timeout: float | None,
        ahead: int | None,
    ) -> None:
        """`answers` makes those of a bag of so many calls; it refuses after a shutdown."""
        self._parts: deque[Part] = deque()
        self._exhausted = True
        if not iterables:
            raise BadInput("map has nothing to go over", remedy="Give an iterable: map(f, items).")
        self._session, self._answers = session, answers
        self._fields, self._runners = fields, runners
        self._name, self._function = name_of(function), function_bytes(function)
        self._arguments = zip(*iterables, strict=False)
        self._until = None if timeout is None else time.monotonic() + timeout
        self._ahead = AHEAD if ahead is None else max(ahead, 1)
        self._waiting = self._size = 0  # handed in, not taken: calls, bytes of their arguments
        self._next = 0  # in the first part
        self._exhausted = False
        self._refused: RuntimeError | None = None
        self._read_at = 0.0
        while self._wants_more() and self._fill():
            pass

    @property
    def reads_on(self) -> bool:
        """It will hand in more."""
        return not self._exhausted

    def __iter__(self) -> Mapping:
        return self

    def __next__(self) -> Any:
        try:
            self._keep_fed()
            if self._parts:
                return self._take(self._parts[0])
        except StopIteration as error:  # let through, it would pass for the end (as in PEP 479)
            told = "a call of map, or the pickling of its arguments, raised StopIteration"
            raise RuntimeError(told) from error
        if self._refused is not None:
            raise self._refused
        raise StopIteration

    def _take(self, part: Part) -> Any:
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
            self._size -= part.size
            self._next = 0

    # ---- reading ------------------------------------------------------------------------------

    def _keep_fed(self) -> None:
        """Reads on while there is nothing to give; while there is, for half of the time at most."""
        if self._has_answer():
            if self._wants_more() and time.monotonic() - self._read_at > READ_S:
                self._fill()
            return
        while self._wants_more() and not self._has_answer():
            self._fill()

    def _has_answer(self) -> bool:
        return bool(self._parts) and self._parts[0].answers.has(self._next)

    def _wants_more(self) -> bool:
        """Half of what may wait is missing."""
        few = self._waiting <= self._ahead // 2 and self._size <= AHEAD_BYTES // 2
        return few and not self._exhausted

    def _fill(self) -> bool:
        """Hand in one more bag; whether its arguments came as fast as they could be used."""
        most = MOST if self._waiting else FIRST
        try:
            items, size, in_time = self._read(min(most, self._ahead - self._waiting))
        except BaseException:
            self.close()
            raise
        self._read_at = time.monotonic()
        if items:
            self._hand_in(items, size)
        return in_time

    def _read(self, most: int) -> tuple[list[bytes], int, bool]:
        items: list[bytes] = []
        size, until = 0, time.monotonic() + READ_S
        for arguments in islice(self._arguments, most):
            items.append(pickled(arguments))
            size += len(items[-1])
            in_time = time.monotonic() < until
            if size >= BAG_BYTES or not in_time:
                return items, size, in_time
        self._exhausted = len(items) < most
        return items, size, True

    def _hand_in(self, items: list[bytes], size: int) -> None:
        try:
            part = Part(self._answers(len(items)), size)
        except RuntimeError as error:  # what was handed in before can still be taken
            self._exhausted, self._refused = True, error
            return
        self._parts.append(part)
        self._waiting += part.count
        self._size += size
        try:
            bag = bag_of(self._name, self._function, items, self._fields, self._runners)
            self._session.submit(bag, part.answers, lambda number: self._taken(part, number))
        except Exception as error:
            part.answers.end(str(error))
            raise

    def _taken(self, part: Part, number: int) -> None:
        """On the session's thread."""
        part.number = number
        if part.unwanted and number:
            self._session.cancel(number)

    # ---- its end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Nobody wants the rest."""
        parts, self._parts = self._parts, deque()
        self._give_up(parts)

    def give_up(self) -> None:
        """The rest is not made; who asks for it is told so."""
        self._give_up(self._parts)

    def _give_up(self, parts: deque[Part]) -> None:
        self._exhausted = True
        for part in parts:
            part.unwanted = True
            if part.number:
                self._session.cancel(part.number)

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # the session has ended before
