"""Transfers over the same links with the same weight. They all have the same rate, so that one
clock shows the bytes that each has had, and a change costs one new rate however many there are."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from tailrace.simulation.engine import Handle

if TYPE_CHECKING:
    from tailrace.simulation.network import Route

_FEW = 64


class Transfer:
    """On its way until `on_done(argument)` is called, or it is cancelled."""

    __slots__ = ("_had", "argument", "due", "entry", "flow", "on_done", "point", "route", "size")

    def __init__(
        self, size: float, route: Route, on_done: Callable[[Any], object], argument: Any
    ) -> None:
        self.size = size
        self.route = route
        self.on_done = on_done
        self.argument = argument
        self.due: Handle = 0  # of the end of its latency
        self.flow: Flow | None = None  # while its bytes travel
        self.point = 0.0  # of the flow's clock, where it ends
        self.entry = 0  # its number in the flow; 0: it is not in it
        self._had = 0.0  # when it left the flow

    @property
    def rate(self) -> float:
        """Bytes per µs; 0: waiting for its latency, or over."""
        return self.flow.rate if self.flow is not None else 0.0

    def sent(self, now: int) -> float:
        """Bytes so far."""
        if self.flow is None:
            return self._had
        return self.size - max(self.point - self.flow.shows(now), 0.0)

    def leave(self, sent: float) -> None:
        self._had, self.flow, self.entry = sent, None, 0


class Flow:
    __slots__ = (
        "_count", "_heap", "_shows", "_since", "due", "due_us", "links", "rate", "route",
        "transfers", "weight",
    )  # fmt: skip

    def __init__(self, route: Route, now: int) -> None:
        self.route, self.links, self.weight = route, route.links, route.weight
        self.transfers: dict[Transfer, None] = {}  # in the order they came
        self.rate = 0.0  # of each, in bytes per µs
        self.due: Handle = 0
        self.due_us: int | None = None  # when the first of them ends
        self._shows, self._since = 0.0, now
        self._heap: list[tuple[float, int, Transfer]] = []
        self._count = 0

    def shows(self, now: int) -> float:
        return self._shows + self.rate * (now - self._since)

    def set_rate(self, rate: float, now: int) -> None:
        if rate != self.rate:
            self._shows, self._since = self.shows(now), now
            self.rate = rate

    def add(self, transfer: Transfer, now: int) -> None:
        self._count += 1
        transfer.flow, transfer.entry = self, self._count
        transfer.point = self.shows(now) + transfer.size
        self.transfers[transfer] = None
        heappush(self._heap, (transfer.point, transfer.entry, transfer))

    def remove(self, transfer: Transfer, sent: float) -> None:
        """It has had so many bytes."""
        del self.transfers[transfer]
        transfer.leave(sent)
        if len(self._heap) > _FEW and len(self._heap) > 2 * len(self.transfers):
            self._heap = [item for item in self._heap if item[2].entry == item[1]]
            heapify(self._heap)

    def _first(self) -> Transfer | None:
        heap = self._heap
        while heap and heap[0][2].entry != heap[0][1]:
            heappop(heap)
        return heap[0][2] if heap else None

    def next_end(self, now: int) -> int | None:
        """To the nearest microsecond."""
        first = self._first()
        if first is None:
            return None
        return now + int(max(first.point - self.shows(now), 0.0) / self.rate + 0.5)

    def ended(self, now: int) -> list[Transfer]:
        """Take out those that end now."""
        found: list[Transfer] = []
        shows, rate = self.shows(now), self.rate
        while (first := self._first()) is not None and (first.point - shows) / rate < 0.5:
            self.remove(first, first.size)
            found.append(first)
        return found
