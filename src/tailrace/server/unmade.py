"""Attempts that were decided on, and whose tasks then could not be made: they end here, unsent.

Whatever a bag holds, it is the fault of that task alone: the server goes on with all others. It is
told to the scheduler in the next cycle. Should there be none, since the server dies, the attempt
stands in the tables as one that its host does not have, and comes here again.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.events import Ended, Measured
from tailrace.scheduler.state import State
from tailrace.server.protocol import MOST_ERROR, Start, WorkResult, encode

#: What comes of a task that cannot be written down as it is sent.
UNWRITABLE = (ValueError, TypeError, ArithmeticError, RecursionError, msgspec.MsgspecError)


class Unmade:
    def __init__(self) -> None:
        self._found: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def note(self, attempt: int, why: str) -> None:
        self._found[attempt] = why[:MOST_ERROR]

    def without(self, start: list[Start]) -> list[Start]:
        """Those that can be written down; the others are noted."""
        return [one for one in start if self._can_be_written(one)]

    def _can_be_written(self, one: Start) -> bool:
        try:
            encode(one)
        except UNWRITABLE as fault:
            self.note(one.attempt, f"task {one.index} cannot be made: {fault}")
            return False
        return True

    def take(self, state: State) -> Iterator[tuple[WorkResult, Ended]]:
        """What ended them, unless something else has meanwhile."""
        found, self._found = self._found, {}
        for number, text in found.items():
            attempt = state.attempts.get(number)
            if attempt is not None:
                result = WorkResult(number, Outcome.TASK_FAILED, error=text)
                yield result, _ended(attempt, result)


def _ended(one: Attempt, result: WorkResult) -> Ended:
    measured = Measured(text=result.text(), unmade=True)
    return Ended(one.attempt, one.bag, one.index, one.host, result.outcome, measured)
