"""Transfers over the same links with the same weight. They all have the same rate, so that one
clock shows the bytes that each has had, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tailrace.simulation.engine import Handle
from tailrace.simulation.workclock import WorkClock

if TYPE_CHECKING:
    from tailrace.simulation.network import Route
    from tailrace.simulation.stream import Stream

_SLACK = 1 + 1e-12  # two clocks need not agree in the last digit


class Transfer:
    """On its way until `on_done(argument)` is called, or it is cancelled."""

    __slots__ = (
        "_had", "argument", "due", "entry", "flow", "number", "on_done", "point", "route", "size",
    )  # fmt: skip

    def __init__(
        self, size: float, route: Route, on_done: Callable[[Any], object], argument: Any
    ) -> None:
        self.size = size
        self.route = route
        self.on_done = on_done
        self.argument = argument
        self.due: Handle = 0  # of the end of its latency
        self.number = 0  # in the order in which they begin
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
    """Its clock shows bytes. What is time to it is what the stream's clock shows: how the stream
    speeds up and slows down is no matter of the flow's, whose rate there is always its weight."""

    __slots__ = (
        "_clock", "entry", "expected", "links", "point", "private", "route", "shared",
        "stream", "transfers", "weight",
    )  # fmt: skip

    def __init__(self, route: Route) -> None:
        self.route, self.links, self.weight = route, route.links, route.weight
        self.shared, self.private = route.shared, route.private
        self.transfers: dict[Transfer, None] = {}  # in the order they came
        self.stream: Stream | None = None  # while there are any
        self.point = 0.0  # of the stream's clock, where the first of them ends
        self.entry = 0  # its number on that clock; 0: it is not on it
        self.expected: Transfer | None = None  # the one that ends there
        self._clock: WorkClock[Transfer] = WorkClock()

    @property
    def ceiling(self) -> float:
        """The pace that its own links and the wide ones allow."""
        pace = self.route.ceiling
        for link in self.private:
            if link.pace < pace:
                pace = link.pace
        return pace

    @property
    def rate(self) -> float:
        """Of each, in bytes per µs."""
        return self.weight * self._pace

    @property
    def _pace(self) -> float:
        return self.stream.pace if self.stream is not None else 0.0

    @property
    def first(self) -> Transfer | None:
        """To end."""
        return self._clock.first

    def _reading(self, now: int) -> float:
        return self.stream.shows(now) if self.stream is not None else 0.0

    def join(self, stream: Stream, now: int) -> None:
        self.stream = stream
        self._clock.set_rate(self.weight, stream.shows(now))

    def leave(self, now: int) -> None:
        """Its clock stands still until it joins the next."""
        self._clock.set_rate(0.0, self._reading(now))
        self.stream = None

    def wait(self, now: int) -> float:
        """How far the stream's clock goes until the first of them ends."""
        return self._clock.wait(self._reading(now)) or 0.0

    def left(self, transfer: Transfer, now: int) -> float:
        """Bytes."""
        return self._clock.needs(transfer, self._reading(now))

    def add(self, transfer: Transfer, now: int) -> None:
        transfer.flow = self
        self.transfers[transfer] = None
        self._clock.add(transfer, transfer.size, self._reading(now))

    def remove(self, transfer: Transfer, sent: float) -> None:
        """It has had so many bytes."""
        del self.transfers[transfer]
        self._clock.remove(transfer)
        transfer.leave(sent)

    def ended(self, now: int) -> list[Transfer]:
        """Take out the first, which the stream says is due, and those that end with it: in less
        than half a microsecond."""
        within = max(self.wait(now) * _SLACK, 0.5 * self._pace)
        found = self._clock.ended(self._reading(now), within)
        for transfer in found:
            del self.transfers[transfer]
            transfer.leave(transfer.size)
        return found
