"""What travels between machines, and how fast (thesis 2.2, 5.3.1).

A route is a sequence of links. On a *wide* link every transfer has the same constant rate, however
many there are: others' traffic is most of it. A *local* link is divided among the transfers on it
by the weights 1/phi, phi = 0.2 · the sum of the route's latencies (INV-RTT-BOUNDED), so that short
routes get more. A transfer is as fast as its slowest link, its bottleneck, lets it be (eq. 5.3);
what it leaves of its part on the other links is not given to others. The latency of the route is
waited for once, before the first byte counts on any link (eq. 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from itertools import count
from math import inf
from operator import attrgetter
from typing import Any

from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.flow import Flow, Transfer
from tailrace.simulation.stream import Stream
from tailrace.simulation.usage import Meter

SECOND_US = 1_000_000


class Reach(Enum):
    LOCAL = "local"  # shared by weights
    WIDE = "wide"  # a constant rate for each


class Link:
    """Counts the bytes that went over it, and for how long there were any on their way.

    A *private* one is some place's own. At each change on it all its flows are looked at, which are
    few; at a change on another, only its streams."""

    __slots__ = (
        "_busy", "_by_weight", "bytes", "bytes_per_s", "flows", "is_private", "latency_us", "name",
        "pace", "reach", "streams",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        bytes_per_s: float,
        latency_us: int = 0,
        reach: Reach = Reach.LOCAL,
        *,
        is_private: bool = False,
    ) -> None:
        if bytes_per_s <= 0:
            raise ValueError(f"link {name!r} has {bytes_per_s} bytes/s: more than 0 is needed")
        self.name = name
        self.bytes_per_s = bytes_per_s
        self.latency_us = latency_us
        self.reach = reach
        self.is_private = is_private
        self.bytes = 0.0
        self.flows: dict[Flow, None] = {}  # those with transfers, in the order they came
        self.streams: dict[Stream, None] = {}  # of flows that share it
        self.pace = inf  # bytes per µs, for each unit of a transfer's weight
        self._by_weight: dict[float, int] = {}  # transfers, by their weight
        self._busy = Meter()

    @property
    def transfers(self) -> list[Transfer]:
        return [transfer for flow in self.flows for transfer in flow.transfers]

    def busy_us(self, now: int) -> int:
        return self._busy.total(now)

    def weigh(self, flow: Flow, more: int, now: int) -> None:
        """So many more transfers of the flow are on it, or fewer."""
        if not flow.transfers:
            self.flows.pop(flow, None)
        elif flow not in self.flows:
            self.flows[flow] = None
        self._busy.set(bool(self.flows), now)
        if self.reach is Reach.LOCAL:
            self._divide(flow.weight, more)

    def _divide(self, weight: float, more: int) -> None:
        """Counted by weights, of which there are few: a sum that is kept up to date would drift."""
        by_weight = self._by_weight
        there = by_weight[weight] = by_weight.get(weight, 0) + more
        if not there:
            del by_weight[weight]
        total = sum([weight * there for weight, there in by_weight.items()])
        self.pace = self.bytes_per_s / SECOND_US / total if by_weight else inf


class Route:
    """Back is the same path as forth."""

    __slots__ = ("ceiling", "latency_us", "links", "path", "private", "shared", "weight")

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = tuple(links)
        self.latency_us = sum(link.latency_us for link in self.links)
        self.weight = 1.0 / (0.2 * max(self.latency_us, 1))  # a route without latency has 1 µs
        self.path = frozenset(self.links), self.latency_us
        local = [link for link in self.links if link.reach is Reach.LOCAL]
        self.shared = tuple(link for link in local if not link.is_private)
        self.private = tuple(link for link in local if link.is_private)
        wide = [link.bytes_per_s for link in self.links if link.reach is Reach.WIDE]
        self.ceiling = min(wide, default=inf) / SECOND_US / self.weight  # a pace


class Traffic:
    """All transfers. When one begins or ends, the streams on its shared links change their pace."""

    __slots__ = ("_active", "_begun", "_engine", "_flows", "_numbers", "_streams")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._active: dict[Transfer, None] = {}  # those waiting for their latency too
        self._begun = 0
        self._flows: dict[Hashable, Flow] = {}  # those with transfers
        self._numbers = count(1)  # of flows on the clocks of streams
        self._streams: dict[tuple[tuple[Link, ...], float], Stream] = {}

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
        route = transfer.route
        flow = self._flows.get(route.path)
        if flow is None:
            flow = self._flows[route.path] = Flow(route)
        self._begun = transfer.number = self._begun + 1
        flow.add(transfer, self._engine.now)
        self._changed(flow, 1)

    def _end(self, stream: Stream) -> None:
        stream.due_us = None
        ended: list[Transfer] = []
        for flow, transfers in stream.ended(self._engine.now):
            self._left(flow, transfers)
            ended += transfers
        if not ended:  # by the last digit of its clock it is a microsecond too early
            self._adapt(stream)
        for transfer in sorted(ended, key=_number):
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
            self._flows.pop(flow.route.path, None)
        self._changed(flow, -len(transfers))

    def _changed(self, flow: Flow, more: int) -> None:
        """It has more transfers, or fewer: all beside it have a new rate."""
        now = self._engine.now
        for link in flow.links:
            link.weigh(flow, more, now)
        touched: dict[Stream, None] = {}
        self._direct(flow, touched)
        for link in flow.private:
            for other in link.flows:
                if other is not flow:
                    self._direct(other, touched)
        for link in flow.shared:
            touched.update(link.streams)
        for stream in touched:
            self._adapt(stream)

    def _direct(self, flow: Flow, touched: dict[Stream, None]) -> None:
        """Into the stream where it belongs now."""
        now, stream, ceiling = self._engine.now, flow.stream, flow.ceiling
        if stream is not None:
            touched[stream] = None
            if flow.transfers and ceiling == stream.ceiling:
                stream.expect(flow, now)
                return
            stream.remove(flow, now)
        if flow.transfers:
            stream = self._stream(flow.shared, ceiling)
            stream.add(flow, now)
            touched[stream] = None

    def _stream(self, links: tuple[Link, ...], ceiling: float) -> Stream:
        stream = self._streams.get((links, ceiling))
        if stream is None:
            stream = Stream(links, ceiling, self._engine.now, self._numbers)
            self._streams[links, ceiling] = stream
            for link in links:
                link.streams[stream] = None
        return stream

    def _adapt(self, stream: Stream) -> None:
        at = stream.adapt(self._engine.now)
        if stream.is_empty:
            del self._streams[stream.links, stream.ceiling]
            for link in stream.links:
                del link.streams[stream]
        if at == stream.due_us:
            return
        if stream.due_us is not None:
            self._engine.cancel(stream.due)
        stream.due_us = at
        if at is not None:
            stream.due = self._engine.put(at, Rank.RESULT, self._end, stream)


_number = attrgetter("number")
