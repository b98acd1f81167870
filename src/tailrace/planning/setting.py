"""What an estimate is of: a bag, its two kinds of hosts, and what their results or leases cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.errors import BadInput
from tailrace.planning.kernel.model import MOST_SENT, MOST_TASKS, Model
from tailrace.planning.strategy import Strategy

Floats = NDArray[np.float64]


class Hosts(msgspec.Struct, frozen=True):
    """One kind of them. Times are in seconds, prices in cents, whatever a cent is of."""

    hosts: int
    turnarounds: Floats  # of attempts that return: quantiles, all as probable
    per_result: float = 0.0
    per_result_s: float = 0.0  # for the time a result took
    per_lease_s: float = 0.0  # for the time of its lease
    unit_s: float = 0.0  # of a lease, paid whole; 0: no leases
    least_s: float = 0.0  # of a lease is paid
    startup_s: float = 0.0
    losers: bool = True  # a result is paid also when its task has one


class Setting(msgspec.Struct, frozen=True):
    tasks: int
    cheap: Hosts
    dear: Hosts | None
    patience_s: float  # an attempt's time-out before the tail
    returned_from: Floats  # since when, beginning with 0 …
    returned: Floats  # … this share of what is sent to cheap hosts returns
    failures: Floats = msgspec.field(default_factory=lambda: np.empty(0))
    retry_first: bool = False
    late: bool = False
    cancel: bool = False

    def check(self, strategies: Sequence[Strategy]) -> None:
        """BadInput: that could never end, or means nothing."""
        _within("tasks", self.tasks, MOST_TASKS)
        _within("unreliable hosts", self.cheap.hosts, MOST_TASKS // 2)
        _check_turnarounds(self.cheap.turnarounds, "unreliable")
        if self.dear is not None:
            _check_turnarounds(self.dear.turnarounds, "reliable")
        if not all(0 < share <= 1 for share in self.returned.tolist()):
            raise BadInput(
                f"a reliability of {_worst(self.returned):g}: it is the share of attempts that "
                "return, above 0 and at most 1",
                remedy="With 0 no unreliable host would ever do anything.",
            )
        self._check_patience()
        for strategy in strategies:
            _check_strategy(self, strategy)

    def _check_patience(self) -> None:
        first = float(self.cheap.turnarounds[0])
        if not (math.isfinite(self.patience_s) and self.patience_s > 0):
            raise BadInput(f"a time-out of {self.patience_s:g} s before the tail: it is above 0")
        if first >= self.patience_s and not self.late:
            raise BadInput(
                f"no attempt would be in time before the tail: the shortest takes {first:g} s, the "
                f"time-out is {self.patience_s:g} s",
                remedy="Take a time-out of several mean turnarounds.",
            )

        self._check_hope()

    def _check_hope(self) -> None:
        """Before the tail a task is sent until it returns in time."""
        if self.tasks >= self.cheap.hosts and self._is_hopeless(self.patience_s):
            raise BadInput(
                f"of {MOST_SENT:,} attempts not even one would return in time",
                remedy="The reliability is too low, or the time-out before the tail is too short.",
            )

    def _is_hopeless(self, timeout_s: float) -> bool:
        in_time = 1.0 if self.late else float(np.mean(self.cheap.turnarounds < timeout_s))
        return in_time * float(self.returned[-1]) * MOST_SENT < 1

    def is_endless(self, strategy: Strategy) -> bool:
        return strategy.n is None and self._is_hopeless(strategy.d_s)

    def admits(self, strategy: Strategy) -> bool:
        """Could it ever end?"""
        try:
            _check_strategy(self, strategy)
        except BadInput:
            return False
        return True

    def model(self, dear_hosts: int) -> Model:
        dear = self.dear or Hosts(0, np.zeros(1))
        return Model(
            self.tasks, self.cheap.hosts, dear_hosts, np.sort(self.cheap.turnarounds),
            self.returned_from, self.returned, np.sort(self.failures), np.sort(dear.turnarounds),
            float(self.patience_s), self.retry_first, self.late, self.cancel,
            float(self.cheap.startup_s), float(self.cheap.unit_s),
            float(dear.startup_s), float(dear.unit_s),
            float(self.cheap.least_s), float(dear.least_s), self.cheap.losers, dear.losers,
        )  # fmt: skip


def _within(what: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise BadInput(f"{number:,} {what}: it is from 1 to {most:,}")


def _worst(values: Floats) -> float:
    return float(next(share for share in values.tolist() if not 0 < share <= 1))


def _check_turnarounds(values: Floats, kind: str) -> None:
    if not values.size:
        raise BadInput(f"no turnaround of {kind} hosts is known", remedy="Give at least one.")
    wrong = values[~(np.isfinite(values) & (values > 0))]
    if wrong.size:
        raise BadInput(f"a turnaround of {wrong[0]:g} s on {kind} hosts: it is above 0")


def _check_strategy(setting: Setting, one: Strategy) -> None:
    for name, value in (("T", one.t_s), ("D", one.d_s), ("Mr", one.mr)):
        if not (math.isfinite(value) and value >= 0):
            raise BadInput(f"{one}: {name} is {value:g}, but must be a number, and 0 or more")
    if one.n is not None and one.n < 0:
        raise BadInput(f"{one}: N is below 0", remedy="N=inf: without end, and no reliable host")
    if one.t_s > one.d_s:
        raise BadInput(
            f"{one}: T is longer than D",
            remedy="T is the time until the next attempt, D until an attempt is given up: T ≤ D.",
        )
    _check_reliable(setting, one)
    if one.n is None:
        _check_endless(setting, one)
    elif setting.dear is None or not one.dear_hosts(setting.cheap.hosts):
        raise BadInput(
            f"{one}: after {one.n} attempts a task goes to a reliable host, and there is none",
            remedy="Give Mr above 0, or N=inf: a task is sent to unreliable hosts without end.",
        )


def _check_reliable(setting: Setting, one: Strategy) -> None:
    most = MOST_TASKS // 2
    if one.mr * setting.cheap.hosts > most:
        raise BadInput(
            f"{one}: Mr of {setting.cheap.hosts:,} unreliable hosts is more than {most:,} reliable "
            "hosts",
            remedy="Mr is their share of the unreliable ones, such as 0.1.",
        )


def _check_endless(setting: Setting, one: Strategy) -> None:
    first = float(np.min(setting.cheap.turnarounds))
    if first >= one.d_s and not setting.late:
        raise BadInput(
            f"{one}: it would never end, as the shortest turnaround is {first:g} s",
            remedy=f"Give a D above {first:g} s, or an N after which a task is sent to a reliable "
            "host.",
        )
    if setting.is_endless(one):
        raise BadInput(
            f"{one}: of {MOST_SENT:,} attempts not even one would return in time",
            remedy="The reliability is too low; give an N after which a task is sent to a reliable "
            "host.",
        )
