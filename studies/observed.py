"""Attempts of the virtual world as its scheduler saw them, by pool: what a plan is made from."""

from __future__ import annotations

from typing import NamedTuple

from tailrace.bag.outcome import Outcome
from tailrace.knowledge.sendings import Fate, Sending, Sendings, gathered
from tailrace.scheduler.decisions import Assign, Close

SECOND = 1_000_000
FATES = {Outcome.SUCCEEDED: Fate.RETURNED, Outcome.EXPIRED: Fate.EXPIRED,
         Outcome.CANCELLED: Fate.OUT}  # fmt: skip


class Out(NamedTuple):
    pool: str
    sent_us: int
    timeout_us: int | None


class Observer:
    """To be the `watch` of a world."""

    def __init__(self) -> None:
        self._out: dict[int, Out] = {}
        self._seen: list[Sending] = []
        self._now = 0

    def __call__(self, event: object, decisions: list[object], now: int) -> None:
        self._now = now
        for one in decisions:
            if isinstance(one, Assign):
                self._out[one.attempt] = Out(one.host.rpartition("-")[0], now, one.timeout_us)
            elif isinstance(one, Close) and one.attempt in self._out:
                out = self._out.pop(one.attempt)
                self._seen.append(self._sending(out, FATES.get(one.outcome, Fate.FAILED)))

    def sendings(self) -> Sendings:
        """With what is still out."""
        return gathered([*self._seen, *map(self._still, self._out.values())])

    def _still(self, out: Out) -> Sending:
        """A host that is gone never says that an attempt has ended whose time-out has passed."""
        over = out.timeout_us is not None and self._now - out.sent_us >= out.timeout_us
        return self._sending(out, Fate.EXPIRED if over else Fate.OUT)

    def _sending(self, out: Out, fate: Fate) -> Sending:
        took_us = self._now - out.sent_us
        if fate is Fate.EXPIRED and out.timeout_us is not None:
            took_us = min(took_us, out.timeout_us)
        return Sending(out.pool, out.sent_us / SECOND, took_us / SECOND, fate)
