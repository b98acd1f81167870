"""The store in a dictionary: what is written of each decision, and read back after a crash."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.scheduler.decisions import AnyDecision, Assign, Close, Remember, Reopen, Settle
from tailrace.scheduler.dispatch import FIRST
from tailrace.scheduler.rows import (
    AttemptRow,
    BagRow,
    HostRow,
    LeaseRow,
    PastRow,
    Restored,
    TaskRow,
    UseRow,
)


class Tables:
    def __init__(self) -> None:
        self.bags: dict[int, BagRow] = {}
        self.permutations: dict[int, bytes] = {}
        self.columns: dict[int, Columns] = {}
        self.attempts: dict[int, AttemptRow] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.ended_us: dict[int, int] = {}
        self.results: dict[tuple[int, int], tuple[int, Outcome]] = {}
        self.troubles: dict[tuple[int, int], TaskRow] = {}
        self.hosts: dict[str, HostRow] = {}
        self.leases: dict[int, LeaseRow] = {}
        self.uses: dict[tuple[int, str], UseRow] = {}

    def enter(self, decisions: list[AnyDecision], now: int) -> None:
        for decision in decisions:
            if isinstance(decision, Assign):
                self._sent(decision, now)
            elif isinstance(decision, Close):
                self.outcomes[decision.attempt] = decision.outcome
                self.ended_us[decision.attempt] = now
            elif isinstance(decision, Settle):
                self._settled(decision)
            elif isinstance(decision, Reopen):
                del self.results[decision.bag, decision.index]
            elif isinstance(decision, Remember):
                self._remembered(_through_json(decision.row))

    def _sent(self, new: Assign, now: int) -> None:
        assert (new.bag, new.index) not in self.results, "sent, though its result is stored"
        assert new.attempt not in self.attempts, "an attempt's number was used twice"
        terms = self.bags[new.bag].terms
        if terms.last and new.index == terms.count - 1 and new.why == FIRST:
            others = [(new.bag, index) in self.results for index in range(new.index)]
            assert all(others), "the last task was sent before all others had their result"
        row = AttemptRow(new.attempt, new.bag, new.index, new.host, now, new.timeout_us)
        self.attempts[new.attempt] = row

    def _settled(self, end: Settle) -> None:
        assert (end.bag, end.index) not in self.results, "a second result for a task"
        self.results[end.bag, end.index] = (end.attempt, end.outcome)
        self.troubles.pop((end.bag, end.index), None)

    def _remembered(self, row: Any) -> None:
        if isinstance(row, BagRow):
            self.bags[row.bag] = row
        elif isinstance(row, TaskRow):
            self.troubles[row.bag, row.index] = row
        elif isinstance(row, HostRow):
            self.hosts[row.host] = row
        elif isinstance(row, UseRow):
            self.uses[row.bag, row.owner] = row
        else:
            self.leases[row.lease] = row

    def restored(self) -> Restored:
        live = [row for number, row in self.attempts.items() if number not in self.outcomes]
        done = {bag: self._bits(bag, failed=False) for bag in self.bags}
        failed = {bag: self._bits(bag, failed=True) for bag in self.bags}
        return Restored(
            bags=[self.bags[bag] for bag in sorted(self.bags)],
            done=done,
            failed={bag: bits for bag, bits in failed.items() if any(bits)},
            permutations=self.permutations,
            tasks=[self.troubles[key] for key in sorted(self.troubles)],
            attempts=live,
            hosts=[self.hosts[host] for host in sorted(self.hosts)],
            leases=[self.leases[lease] for lease in sorted(self.leases)],
            next_attempt=max(self.attempts, default=0) + 1,
            next_lease=max(self.leases, default=0) + 1,
            uses=[self.uses[key] for key in sorted(self.uses)],
            columns=dict(self.columns),  # a page of the journal keeps them
            past=self._past(),
        )

    def _past(self) -> list[PastRow]:
        found = []
        for number, ended_us in sorted(self.ended_us.items(), key=lambda item: item[1]):
            row = self.attempts[number]
            if self.bags[row.bag].terms.replication is not None:
                outcome = self.outcomes[number]
                found.append(PastRow(row.bag, row.host, row.sent_us, ended_us, row.timeout_us,
                                     outcome, row.index))  # fmt: skip
        return found

    def _bits(self, bag: int, *, failed: bool) -> bytes:
        bits = bytearray((self.bags[bag].terms.count + 7) // 8)
        for (owner, index), (_, outcome) in self.results.items():
            if owner == bag and (not failed or outcome is not Outcome.SUCCEEDED):
                bits[index >> 3] |= 1 << (index & 7)
        return bytes(bits)


def _through_json(row: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(row), type=type(row))
