"""Flows that go at one pace, since the same links hold them back: one clock shows how far.

The pace is the bytes per µs for each unit of weight. A link of weight W offers `bytes_per_s`/W to
all that is on it, so a new transfer gives one new pace to a stream, however many flows are in it.
What holds back a flow alone, its own links and the wide ones, is the stream's ceiling: a hundred
machines with like links of their own are one stream, not a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailrace.simulation.engine import Handle
from tailrace.simulation.workclock import WorkClock

if TYPE_CHECKING:
    from tailrace.simulation.flow import Flow, Transfer
    from tailrace.simulation.network import Link


class Stream:
    __slots__ = ("_clock", "_flows", "ceiling", "due", "due_us", "links")

    def __init__(
        self, links: tuple[Link, ...], ceiling: float, now: int, numbers: Iterator[int]
    ) -> None:
        self.links = links  # local ones that many share
        self.ceiling = ceiling
        self.due: Handle = 0
        self.due_us: int | None = None  # when the first transfer of them all ends
        self._flows = 0
        self._clock: WorkClock[Flow] = WorkClock(now, numbers)

    @property
    def pace(self) -> float:
        return self._clock.rate

    @property
    def is_empty(self) -> bool:
        return not self._flows

    def shows(self, now: int) -> float:
        """Bytes for each unit of weight that every flow in it has had."""
        return self._clock.shows(now)

    def add(self, flow: Flow, now: int) -> None:
        self._flows += 1
        flow.join(self, now)
        self.expect(flow, now)

    def remove(self, flow: Flow, now: int) -> None:
        self._flows -= 1
        self._forget(flow)
        flow.leave(now)

    def expect(self, flow: Flow, now: int) -> None:
        """The first end in the flow, when that is another than before."""
        if flow.entry and flow.first is flow.expected:
            return
        self._forget(flow)
        flow.expected = flow.first
        self._clock.add(flow, flow.wait(now), now)

    def _forget(self, flow: Flow) -> None:
        if flow.entry:
            self._clock.remove(flow)

    def adapt(self, now: int) -> int | None:
        """Take the pace that the links allow now. When does the first transfer end?"""
        pace = self.ceiling
        for link in self.links:
            if link.pace < pace:
                pace = link.pace
        self._clock.set_rate(pace, now)
        return self._clock.next_end(now)

    def ended(self, now: int) -> list[tuple[Flow, list[Transfer]]]:
        """Take out the transfers that end now."""
        return [(flow, flow.ended(now)) for flow in self._clock.ended(now)]
