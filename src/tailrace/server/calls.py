"""The workers' calls in hand: each waits for the cycle, and is answered by it or parked."""

from __future__ import annotations

import heapq

from tailrace.scheduler.attempt import Attempt
from tailrace.server.protocol import WorkRequest

SECOND_US = 1_000_000
MOST_WAIT_US = 60 * SECOND_US
NEVER = 1 << 63

Ticket = int


class Call:
    __slots__ = ("ack", "answer", "held", "old", "refused", "request", "start", "ticket", "trusted",
                 "until_us")  # fmt: skip

    def __init__(
        self, ticket: Ticket, request: WorkRequest, now: int, *, trusted: bool = False
    ) -> None:
        self.ticket = ticket
        self.request = request
        self.trusted = trusted  # its token says so
        self.until_us = now + min(int(request.wait_s * SECOND_US), MOST_WAIT_US)
        self.ack: list[int] = []
        self.held: dict[int, None] = {}
        self.old = False  # an earlier call of this worker, or one of an earlier session
        self.refused = ""  # why: it is not of the host it names
        self.answer = False
        self.start: list[Attempt] = []


class Parked:
    """At most one call of each host. Ten thousand of them cost a cycle nothing: it looks at those
    whose time is up, by a heap, and at those it has news for."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._hosts: dict[Ticket, str] = {}
        self._ends: list[tuple[int, Ticket]] = []  # some of calls that are gone already

    def __contains__(self, host: str) -> bool:
        return host in self._calls

    def park(self, call: Call) -> None:
        self._calls[call.request.host] = call
        self._hosts[call.ticket] = call.request.host
        heapq.heappush(self._ends, (call.until_us, call.ticket))

    def get(self, host: str) -> Call | None:
        return self._calls.get(host)

    def take(self, host: str) -> Call | None:
        call = self._calls.pop(host, None)
        if call is not None:
            del self._hosts[call.ticket]
        return call

    def host_of(self, ticket: Ticket) -> str | None:
        return self._hosts.get(ticket)

    def tickets(self) -> list[Ticket]:
        return list(self._hosts)

    def next_end(self) -> int:
        while self._ends and self._ends[0][1] not in self._hosts:
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else NEVER

    def due(self, now: int) -> list[str]:
        """Hosts whose calls have waited long enough; they stay parked until they are taken."""
        found = []
        while self.next_end() <= now:
            _, ticket = heapq.heappop(self._ends)
            found.append(self._hosts[ticket])
        return found
