"""What came of the calls of one bag, as it arrives: kept as bytes until somebody wants to know.

The thread that serves only puts the bytes here. It unpickles nothing and runs nobody's code.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from tailrace.bag.outcome import Outcome
from tailrace.python.failures import Stopped, exception_of, read

Row = tuple[int, str, bytes | None]  # index, outcome, what the worker reported
Arrived = Callable[["Answers", list[int]], None]


class Answers:
    def __init__(self, count: int, arrived: Arrived | None = None) -> None:
        """`arrived` is told, on the serving thread, which calls have an answer now."""
        self.count = count
        self._rows: dict[int, tuple[str, bytes | None]] = {}
        self._over: str | None = None  # why there will be no more
        self._known: set[int] = set()  # all that had an answer at some time
        self._changed = threading.Condition()
        self._arrived = arrived

    @property
    def complete(self) -> bool:
        return len(self._known) == self.count

    def has(self, index: int) -> bool:
        """`take` would not have to be waited for."""
        return index in self._rows or self._over is not None

    def put(self, rows: Iterable[Row]) -> None:
        with self._changed:
            fresh = [(index, (outcome, body)) for index, outcome, body in rows]
            self._rows.update(fresh)
            self._known.update(index for index, _ in fresh)
            self._changed.notify_all()
        if self._arrived is not None:
            self._arrived(self, [index for index, _ in fresh])

    def end(self, why: str) -> None:
        """The bag runs no more; what has no answer now will have none."""
        with self._changed:
            if self._over is not None:
                return
            self._over = why
            self._changed.notify_all()
            missing = [index for index in range(self.count) if index not in self._known]
        if self._arrived is not None:
            self._arrived(self, missing)

    def wait(self, index: int, until: float | None = None) -> None:
        """Until there is an answer; TimeoutError when the (monotonic) time is over."""
        with self._changed:
            while not self.has(index):
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError
                self._changed.wait(left)

    def take(self, index: int) -> Any:
        """The value, or its exception raised; forgotten here afterwards."""
        row = self._rows.pop(index, None)
        if row is None:
            raise Stopped(f"the call was not made: {self._over or 'it was taken already'}")
        outcome, body = row
        if outcome != Outcome.SUCCEEDED or body is None:
            raise exception_of(outcome, body)
        return pickle.loads(read(body).pickled)
