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

from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.flow import Flow, Transfer
from tailrace.simulation.usage import Meter

SECOND_US = 1_000_000


class Reach(Enum):
    LOCAL = "local"  # shared by weights
    WIDE = "wide"  # a constant rate for each


class Link:
    """Counts the bytes that went over it, and for how long there were any on their way."""

    __slots__ = ("_busy", "bytes", "bytes_per_s", "flows", "latency_us", "name", "reach", "weight")

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
        self.flows: dict[Flow, None] = {}  # those with transfers, in the order they came
        self.weight = 0.0  # of all transfers on it
        self._busy = Meter()

    @property
    def transfers(self) -> list[Transfer]:
        return [transfer for flow in self.flows for transfer in flow.transfers]

    def busy_us(self, now: int) -> int:
        return self._busy.total(now)

    def weigh(self, flow: Flow, now: int) -> None:
        """After a change of it. Added up anew: a sum that is kept up to date would drift."""
        if flow.transfers:
            self.flows[flow] = None
        else:
            self.flows.pop(flow, None)
        if self.reach is Reach.LOCAL:
            self.weight = sum([flow.weight * len(flow.transfers) for flow in self.flows])
        self._busy.set(bool(self.flows), now)

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


class Traffic:
    """All transfers. When one begins or ends, the flows that share a local link with it change."""

    __slots__ = ("_active", "_engine", "_flows")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._active: dict[Transfer, None] = {}  # those waiting for their latency too
        self._flows: dict[tuple[Link, ...], Flow] = {}  # those with transfers

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
        flow = transfer.flow
        if flow is not None:
            flow.remove(transfer, transfer.sent(self._engine.now))
            self._left(flow, [transfer])

    def _begin(self, transfer: Transfer) -> None:
        now, links = self._engine.now, transfer.route.links
        flow = self._flows.get(links)
        if flow is None:
            flow = self._flows[links] = Flow(transfer.route, now)
        flow.add(transfer, now)
        self._changed(flow)

    def _end(self, flow: Flow) -> None:
        flow.due_us = None
        ended = flow.ended(self._engine.now)
        self._left(flow, ended)
        for transfer in ended:
            if transfer in self._active:  # else cancelled by what the one before has caused
                self._arrive(transfer)

    def _arrive(self, transfer: Transfer) -> None:
        del self._active[transfer]
        transfer.leave(transfer.size)
        transfer.on_done(transfer.argument)

    def _left(self, flow: Flow, transfers: list[Transfer]) -> None:
        now = self._engine.now
        for link in flow.links:
            for transfer in transfers:
                link.bytes += transfer.sent(now)
        if not flow.transfers:
            self._flows.pop(flow.links, None)
        self._changed(flow)

    def _changed(self, flow: Flow) -> None:
        """It has more transfers, or fewer: all beside it have a new rate."""
        now = self._engine.now
        for link in flow.links:
            link.weigh(flow, now)
        if not flow.transfers:
            self._expect_end(flow, None)
        for other in _beside(flow):
            other.set_rate(other.route.rate(), now)
            self._expect_end(other, other.next_end(now))

    def _expect_end(self, flow: Flow, at: int | None) -> None:
        if at == flow.due_us:
            return
        if flow.due_us is not None:
            self._engine.cancel(flow.due)
        flow.due_us = at
        if at is not None:
            flow.due = self._engine.put(at, Rank.RESULT, self._end, flow)


def _beside(flow: Flow) -> dict[Flow, None]:
    """Those that share a local link with it, and itself."""
    beside: dict[Flow, None] = {flow: None} if flow.transfers else {}
    for link in flow.links:
        if link.reach is Reach.LOCAL:
            beside.update(link.flows)
    return beside
