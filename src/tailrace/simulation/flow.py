"""Transfers over the same links with the same weight. They all have the same rate, so that one
clock shows the bytes that each has had, and a change costs one new rate however many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tailrace.simulation.engine import Handle
from tailrace.simulation.workclock import WorkClock

if TYPE_CHECKING:
    from tailrace.simulation.network import Route


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
        self.entry = 0  # its number on that clock; 0: it is not on it
        self._had = 0.0  # when it left the flow

    @property
    def rate(self) -> float:
        """Bytes per µs; 0: waiting for its latency, or over."""
        return self.flow.rate if self.flow is not None else 0.0

    def sent(self, now: int) -> float:
        """Bytes so far."""
        if self.flow is None:
            return self._had
        return self.size - self.flow.left(self, now)

    def leave(self, sent: float) -> None:
        self._had, self.flow = sent, None


class Flow:
    __slots__ = ("_clock", "due", "due_us", "links", "route", "transfers", "weight")

    def __init__(self, route: Route, now: int) -> None:
        self.route, self.links, self.weight = route, route.links, route.weight
        self.transfers: dict[Transfer, None] = {}  # in the order they came
        self.due: Handle = 0
        self.due_us: int | None = None  # when the first of them ends
        self._clock: WorkClock[Transfer] = WorkClock(now)

    @property
    def rate(self) -> float:
        """Of each, in bytes per µs."""
        return self._clock.rate

    def set_rate(self, rate: float, now: int) -> None:
        self._clock.set_rate(rate, now)

    def left(self, transfer: Transfer, now: int) -> float:
        """Bytes."""
        return self._clock.needs(transfer, now)

    def add(self, transfer: Transfer, now: int) -> None:
        transfer.flow = self
        self.transfers[transfer] = None
        self._clock.add(transfer, transfer.size, now)

    def remove(self, transfer: Transfer, sent: float) -> None:
        """It has had so many bytes."""
        del self.transfers[transfer]
        self._clock.remove(transfer)
        transfer.leave(sent)

    def next_end(self, now: int) -> int | None:
        return self._clock.next_end(now)

    def ended(self, now: int) -> list[Transfer]:
        """Take out those that end now."""
        found = self._clock.ended(now)
        for transfer in found:
            del self.transfers[transfer]
            transfer.leave(transfer.size)
        return found
