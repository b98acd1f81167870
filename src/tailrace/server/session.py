"""A worker as it is known between its calls."""

from __future__ import annotations

from tailrace.scheduler.events import HostSeen
from tailrace.server.calls import SECOND_US
from tailrace.server.protocol import WorkRequest

SAME_END_US = 5 * SECOND_US


class Session:
    """`number` is durable, and so is `seq` as far as a call was told to start something: no older
    call can deny having heard of that."""

    __slots__ = (
        "about", "ends_us", "facts", "first_us", "gone", "host", "number", "seen_us", "sent", "seq",
        "shared", "told",
    )  # fmt: skip

    def __init__(
        self, host: str, number: int, seq: int, about: bytes, first_us: int, seen_us: int
    ) -> None:
        self.host = host
        self.number = number
        self.seq = seq
        self.about = about
        self.first_us = first_us
        self.seen_us = seen_us
        self.facts: HostSeen | None = None  # as the scheduler was told
        self.gone = False  # the scheduler was told that it is silent
        self.told: dict[int, int] = {}  # attempts it was told to drop, and when
        self.ends_us: int | None = None  # of its lease, as it was told
        self.sent: dict[str, None] = {}  # small blobs it was given
        self.shared: dict[int, None] = {}  # bags of which we told it what all tasks share

    def end_of(self, request: WorkRequest, now: int) -> int | None:
        """When its machine ends. It tells how long it has, and calls take their time: nearly the
        same is the same."""
        if request.ends_s is None:
            return None
        ends = now + round(request.ends_s * SECOND_US)
        known = self.facts.ends_us if self.facts is not None else None
        return known if known is not None and abs(ends - known) < SAME_END_US else ends
