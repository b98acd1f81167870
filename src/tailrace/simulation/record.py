"""What became of each task and attempt of a bag, as it happens: a few numbers for each task."""

from __future__ import annotations

from array import array

from tailrace.bag.outcome import Outcome

UNKNOWN = -1
SUCCEEDED = Outcome.SUCCEEDED  # looked up for every task


class Record:
    """Times in microseconds; `UNKNOWN` where it has not happened."""

    def __init__(self, count: int) -> None:
        self.arrived = array("q", [UNKNOWN]) * count
        self.sent = array("q", [UNKNOWN]) * count  # for the first time
        self.done = array("q", [UNKNOWN]) * count
        self.attempts = 0
        self.succeeded = 0
        self.turnaround_us = 0  # of those that succeeded: from arrival to result, all together
        self.failed = 0
        self.given_up = array("q")  # the tasks that failed
        self.fates: dict[Outcome, int] = {}  # of those that failed: what ended them

    @property
    def settled(self) -> int:
        return self.succeeded + self.failed

    @property
    def complete(self) -> bool:
        """Every task has its result."""
        return self.settled == len(self.done)

    def send(self, index: int, now: int) -> None:
        self.attempts += 1
        if self.sent[index] == UNKNOWN:
            self.sent[index] = now

    def settle(self, index: int, now: int, outcome: Outcome) -> None:
        self.done[index] = now
        if outcome is SUCCEEDED:
            self.succeeded += 1
            self.turnaround_us += now - self.arrived[index]
        else:
            self.failed += 1
            self.given_up.append(index)
            self.fates[outcome] = self.fates.get(outcome, 0) + 1

    @property
    def restarts(self) -> int:
        """Attempts beyond the first of each task."""
        return self.attempts - self.first_sent

    @property
    def submitted(self) -> int:
        return len(self.arrived) - self.arrived.count(UNKNOWN)

    @property
    def first_sent(self) -> int:
        """Tasks that were sent at least once."""
        return len(self.sent) - self.sent.count(UNKNOWN)

    def waiting_us(self) -> list[int]:
        pairs = zip(self.arrived, self.sent, strict=True)
        return [sent - arrived for arrived, sent in pairs if sent != UNKNOWN]
