"""Conditions under which a scenario stops, beside its time: so many failures, so much spent."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import money
from tailrace.scheduler.state import State
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.scenario import Stopping

EVERY_US = 60_000_000  # a bill grows by itself, and is looked at so often


class Bounds:
    def __init__(self, stop: Stopping, engine: Engine, state: State) -> None:
        self._stop, self._engine, self._state = stop, engine, state
        self._failed = 0
        self._met = False
        if stop.spent is not None:
            engine.put(EVERY_US, Rank.WATCH, self._look_at_the_bill)

    def are_met(self) -> bool:
        return self._met

    def settled(self, outcome: Outcome) -> None:
        self._failed += outcome is not Outcome.SUCCEEDED
        self._met = self._met or self._failed == self._stop.failed

    def _look_at_the_bill(self, _: object) -> None:
        assert self._stop.spent is not None
        currency, most = self._stop.spent
        bags = self._state.bags.values()
        spent = sum(money.spent(self._state, bag, currency, self._engine.now) for bag in bags)
        self._met = self._met or spent >= most
        if not self._engine.only_looks_on():
            due = self._engine.now + EVERY_US
            self._engine.put(due, Rank.WATCH, self._look_at_the_bill)
