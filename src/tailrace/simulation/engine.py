"""The event loop of the virtual world: a heap of moments, and an order among equal ones.

Events of one instant run by rank, then in the order in which they were put (DSiDE's current event
chain, thesis 2.2, leaves that order open). What is put for the instant that is just running comes
after all that is there, whatever its rank: nothing overtakes an event that was already due. Only an
alarm lets all of them pass.

Time is an integer of microseconds and never decreases.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from heapq import heapify, heappop, heappush
from typing import Any

Action = Callable[[Any], object]
Handle = int
NEVER = 1 << 62


class Rank(IntEnum):
    """Who comes first in the same instant."""

    RESULT = 0  # something ends: what is done in time counts, even if its machine fails just then
    LIFE = 1  # a machine comes, warns or goes
    LOAD = 2  # speed or background load changes
    TIMEOUT = 3  # of a machine: a result that comes in the last moment is in time
    ARRIVAL = 4  # new work comes in
    SENDING = 5  # work begins: on what is there after all the above
    WATCH = 6  # looking on: sees the instant as it ends
    ALARM = 8  # of the scheduler: last, behind what is put for the instant that is just running


class Stop(Enum):
    """Why a run came back."""

    EMPTY = "nothing is left to happen"
    TIME = "the time was reached"
    COUNT = "the number of events was reached"
    CONDITION = "the condition holds"
    ASKED = "an event asked for it"


_RANK = 48  # the bits below count the events: 2.8e14 of them
_SAME_INSTANT = (Rank.WATCH + 1) << _RANK
_FEW = 1000


class Engine:
    """`put` what shall happen, then `run`. Handles are numbers that are never used again, so that
    cancelling what has already happened does no harm."""

    __slots__ = ("_asked", "_count", "_heap", "_runs", "_void", "executed", "now")

    def __init__(self) -> None:
        self.now = 0
        self.executed = 0  # events so far, brought up to date when `run` comes back
        self._heap: list[tuple[int, int, Action, Any]] = []
        self._void: set[Handle] = set()  # asked for membership only: its order is never seen
        self._count = 0
        self._runs = False
        self._asked = False

    def put(self, at: int, rank: int, action: Action, argument: Any = None) -> Handle:
        """Call `action(argument)` at that time."""
        self._count = count = self._count + 1
        order = rank << _RANK | count if at > self.now else self._order_now(at, rank)
        heappush(self._heap, (at, order, action, argument))
        return order

    def _order_now(self, at: int, rank: int) -> int:
        if at < self.now:
            raise ValueError(f"an event for {at} µs was put at {self.now} µs: time never decreases")
        order = rank << _RANK
        return (max(order, _SAME_INSTANT) if self._runs else order) | self._count

    def cancel(self, handle: Handle) -> None:
        """The event shall not happen. Swept out when more than half are void."""
        void = self._void
        void.add(handle)
        if len(void) > _FEW and len(void) > len(self._heap) >> 1:
            self._sweep()

    def _sweep(self) -> None:
        """In place: the loop holds on to this very list."""
        void = self._void
        self._heap[:] = [event for event in self._heap if event[1] not in void]
        heapify(self._heap)
        void.clear()

    def only_looks_on(self) -> bool:
        """Whether nothing is left that could change anything: who looks on may rest, too. Mostly
        the first event that it comes to says no."""
        void, watch = self._void, int(Rank.WATCH)
        return all(event[1] >> _RANK == watch or event[1] in void for event in self._heap)

    def stop(self) -> None:
        """Asked by an action: the run comes back after it."""
        self._asked = True

    def run(
        self,
        until: int | None = None,
        events: int | None = None,
        when: Callable[[], bool] | None = None,
    ) -> Stop:
        """Let things happen, up to and including the time `until`, for so many events at most, or
        until the condition holds after one. It may be called again to go on. What would happen at
        `NEVER` does not."""
        if events is not None and events <= 0:
            return Stop.COUNT
        end = NEVER - 1 if until is None else until
        self._runs, self._asked = True, False
        try:
            why = self._loop(end, -1 if events is None else events, when)
        finally:
            self._runs = False
        if until is not None and why in (Stop.TIME, Stop.EMPTY):
            self.now = max(self.now, until)
        return why

    def _loop(self, end: int, left: int, when: Callable[[], bool] | None) -> Stop:
        """One long function: a call for each event would cost a third of the speed."""
        heap, void, start = self._heap, self._void, left
        try:
            while heap:
                at, order, action, argument = event = heappop(heap)
                if void and order in void:
                    void.discard(order)
                    continue
                if at > end:
                    heappush(heap, event)
                    return Stop.TIME
                self.now = at
                left -= 1
                action(argument)
                if self._asked:
                    return Stop.ASKED
                if left == 0:
                    return Stop.COUNT
                if when is not None and when():
                    return Stop.CONDITION
            return Stop.EMPTY
        finally:
            self.executed += start - left
