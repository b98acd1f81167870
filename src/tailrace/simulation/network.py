"""What travels between machines, and how fast (thesis 2.2, 5.3.1).

A route is a sequence of links. On a *wide* link every transfer has the same constant rate, however
many there are: others' traffic is most of it. A *local* link is divided among the transfers on it
by the weights 1/phi, phi = 0.2 · the sum of the route's latencies (INV-RTT-BOUNDED), so that short
routes get more. A transfer is as fast as its slowest link, its bottleneck, lets it be (eq. 5.3);
what it leaves of its part on the other links is not given to others. The latency of the route is
waited for once, before the first byte counts on any link (eq. 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from tailrace.simulation.engine import Engine, Handle, Rank
from tailrace.simulation.usage import Meter

SECOND_US = 1_000_000


class Reach(Enum):
    LOCAL = "local"  # shared by weights
    WIDE = "wide"  # a constant rate for each


class Link:
    """Counts the bytes that went over it, and for how long there were any on their way."""

    __slots__ = (
        "_busy",
        "bytes",
        "bytes_per_s",
        "latency_us",
        "name",
        "reach",
        "transfers",
        "weight",
    )

    def __init__(
        self, name: str, bytes_per_s: float, latency_us: int = 0, reach: Reach = Reach.LOCAL
    ) -> None:
        if bytes_per_s <= 0:
            raise ValueError(f"link {name!r} has {bytes_per_s} bytes/s: more than 0 is needed")
        self.name = name
        self.bytes_per_s = bytes_per_s
        self.latency_us = latency_us
        self.reach = reach
        self.bytes = 0.0
        self.transfers: dict[Transfer, None] = {}  # active, in the order they came
        self.weight = 0.0  # of all active transfers
        self._busy = Meter()

    def busy_us(self, now: int) -> int:
        return self._busy.total(now)

    def enter(self, transfer: Transfer, now: int) -> None:
        self.transfers[transfer] = None
        self._weigh(now)

    def leave(self, transfer: Transfer, now: int) -> None:
        del self.transfers[transfer]
        self._weigh(now)

    def _weigh(self, now: int) -> None:
        """Added up anew each time: a sum that is kept up to date would drift."""
        if self.reach is Reach.LOCAL:
            self.weight = sum([transfer.route.weight for transfer in self.transfers])
        self._busy.set(bool(self.transfers), now)

    def rate(self, weight: float) -> float:
        """Bytes per µs for an active transfer of that weight."""
        part = weight / self.weight if self.reach is Reach.LOCAL else 1.0
        return self.bytes_per_s / SECOND_US * part


class Route:
    __slots__ = ("latency_us", "links", "weight")

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = tuple(links)
        self.latency_us = sum(link.latency_us for link in self.links)
        self.weight = 1.0 / (0.2 * max(self.latency_us, 1))  # a route without latency has 1 µs

    def rate(self) -> float:
        """Eq. 5.3, as the links are loaded now."""
        return min([link.rate(self.weight) for link in self.links])


class Transfer:
    """On its way until `on_done(argument)` is called, or it is cancelled."""

    __slots__ = ("argument", "due", "left", "on_done", "rate", "route", "since_us", "size")

    def __init__(
        self, size: float, route: Route, on_done: Callable[[Any], object], argument: Any
    ) -> None:
        self.size = size
        self.left: float = size  # bytes, at the time of its latest change of rate
        self.route = route
        self.on_done = on_done
        self.argument = argument
        self.rate = 0.0  # bytes per µs; 0: waiting for its latency, or over
        self.since_us = 0
        self.due: Handle = 0

    def sent(self, now: int) -> float:
        """Bytes so far."""
        return self.size - max(self.left - self.rate * (now - self.since_us), 0.0)


class Traffic:
    """All transfers. When one begins or ends, those that share a local link with it change."""

    __slots__ = ("_active", "_engine")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._active: dict[Transfer, None] = {}  # those waiting for their latency too

    def send(
        self, size: float, route: Route, on_done: Callable[[Any], object], argument: Any = None
    ) -> Transfer:
        """Over a route of no links it is there at once, but not before this call has come back."""
        transfer = Transfer(size, route, on_done, argument)
        self._active[transfer] = None
        arrive = self._begin if route.links and size > 0 else self._arrive
        at = self._engine.now + route.latency_us
        transfer.due = self._engine.put(at, Rank.RESULT, arrive, transfer)
        return transfer

    def cancel(self, transfer: Transfer) -> None:
        """What went over the links stays counted. One that is over is let be."""
        if transfer not in self._active:
            return
        self._engine.cancel(transfer.due)
        del self._active[transfer]
        if transfer.rate:
            self._leave_links(transfer)

    def _begin(self, transfer: Transfer) -> None:
        now = self._engine.now
        transfer.since_us = now
        for link in transfer.route.links:
            link.enter(transfer, now)
        transfer.due = 0
        self._rescale(transfer)

    def _end(self, transfer: Transfer) -> None:
        transfer.left, transfer.since_us = 0.0, self._engine.now  # to the nearest microsecond
        self._leave_links(transfer)
        self._arrive(transfer)

    def _arrive(self, transfer: Transfer) -> None:
        del self._active[transfer]
        transfer.on_done(transfer.argument)

    def _leave_links(self, transfer: Transfer) -> None:
        now = self._engine.now
        sent = transfer.sent(now)
        transfer.left, transfer.rate = transfer.size - sent, 0.0
        for link in transfer.route.links:
            link.leave(transfer, now)
            link.bytes += sent
        self._rescale(transfer)

    def _rescale(self, changed: Transfer) -> None:
        beside: dict[Transfer, None] = {}
        for link in changed.route.links:
            if link.reach is Reach.LOCAL:
                beside.update(link.transfers)
            elif changed in link.transfers:
                beside[changed] = None
        for transfer in beside:
            self._set_rate(transfer, transfer.route.rate())

    def _set_rate(self, transfer: Transfer, rate: float) -> None:
        if rate == transfer.rate:
            return
        engine, now = self._engine, self._engine.now
        transfer.left, transfer.since_us = transfer.size - transfer.sent(now), now
        transfer.rate = rate
        if transfer.due:
            engine.cancel(transfer.due)
        ends = now + int(transfer.left / rate + 0.5)
        transfer.due = engine.put(ends, Rank.RESULT, self._end, transfer)
