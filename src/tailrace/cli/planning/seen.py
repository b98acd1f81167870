"""What is known for an estimate, as it was seen and as it is said, and the setting it makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tailrace.cli.planning.attemptsfile import read_attempts
from tailrace.cli.planning.inputs import PATIENCE, Inputs, required
from tailrace.cli.planning.observed import Observation, observed
from tailrace.errors import BadInput
from tailrace.knowledge.characterisation import Characterisation, characterise
from tailrace.knowledge.sendings import Fate
from tailrace.planning.setting import Hosts, Setting
from tailrace.pools.terms import Pool

Floats = NDArray[np.float64]

T = TypeVar("T")

CENTS = 1e-4  # of a micro-unit
ENOUGH = 5  # results of reliable hosts, before which their mean says too little


class Given(msgspec.Struct, frozen=True, eq=False):
    """Times in seconds, prices in cents per second. None: nobody knows."""

    turnarounds: Floats  # quantiles
    since_s: Floats  # and the share that returns from then on
    share: Floats
    tasks: int | None = None
    hosts: int | None = None
    t_ur: float = 0.0
    t_r: float | None = None
    c_ur: float = 0.0
    c_r: float = 0.0
    patience_s: float | None = None
    told: tuple[str, ...] = ()  # of where it comes from, for people

    def with_said(self, said: Inputs) -> Given:
        """What its user says comes first."""
        share = self.share if said.reliability is None else np.array([said.reliability])
        since_s = self.since_s if said.reliability is None else np.zeros(1)
        return replace(
            self, since_s=since_s, share=share,
            tasks=_first(said.tasks, self.tasks), hosts=_first(said.unreliable, self.hosts),
            t_ur=_first(said.t_ur, self.t_ur), t_r=_first(said.t_r, self.t_r),
            c_ur=_first(said.c_ur, self.c_ur), c_r=_first(said.c_r, self.c_r),
            patience_s=_first(said.throughput_deadline, self.patience_s),
        )  # fmt: skip

    def setting(self) -> Setting:
        """ExPERT's own model: a result costs what its kind of host costs in T_ur or T_r, a failure
        is known by its time-out alone, and what comes later is ignored."""
        hosts = required(self.hosts, "--unreliable", "50")
        t_r = self.t_ur if self.t_r is None else self.t_r
        return Setting(
            tasks=required(self.tasks, "--tasks", "150"),
            cheap=Hosts(hosts, self.turnarounds, per_result=self.c_ur * self.t_ur),
            dear=Hosts(hosts, np.array([t_r]), per_result=self.c_r * t_r),
            patience_s=PATIENCE * self.t_ur if self.patience_s is None else self.patience_s,
            returned_from=self.since_s,
            returned=self.share,
        )


def _first(said: T | None, seen: T) -> T:
    return seen if said is None else said


def of_numbers(path: Path) -> Given:
    """A list of turnarounds; or a table of attempts, whose shares and hosts are seen, too."""
    found = characterise(read_attempts(path))
    times = found.turnaround.points()
    hosts = None if found.size is None else found.size.hosts
    return Given(times, np.zeros(1), _share(found), hosts=hosts, t_ur=float(times.mean()))


def of_attempts(source: str, server: str | None) -> Given:
    seen = observed(source, server)
    found = seen.characterise()
    times = found.turnaround.points()
    dear = _dear_times(seen)
    return Given(
        times, np.zeros(1), _share(found),
        tasks=seen.tasks,
        hosts=None if found.size is None else found.size.hosts,
        t_ur=float(times.mean()),
        t_r=float(dear.mean()) if dear.size >= ENOUGH else None,
        c_ur=_cents_per_s(seen, seen.unreliable),
        c_r=_cents_per_s(seen, [pool.name for pool in seen.pools.values() if pool.reliable]),
        patience_s=seen.timeout_s,
        told=(_told(seen, found.sent, found.returned),),
    )  # fmt: skip


def _share(found: Characterisation) -> Floats:
    """On average: the hours of another run say nothing of those of a new one."""
    return np.array([found.reliability.mean])


def _dear_times(seen: Observation) -> Floats:
    if not seen.reliable:
        return np.empty(0)
    some = seen.sendings.of(*seen.reliable)
    return some.took_s[some.how(Fate.RETURNED)] if some.count else np.empty(0)


def _cents_per_s(seen: Observation, names: Sequence[str]) -> float:
    """The mean over what was sent; of pools to which nothing was sent, over these."""
    pools = [seen.pools[name] for name in names if name in seen.pools]
    if not pools:
        return 0.0
    _check_currencies(pools)
    sent = [seen.sendings.of(pool.name).count for pool in pools]
    weights = sent if sum(sent) else [1] * len(pools)
    prices = [float(pool.billing.per_second()) * CENTS for pool in pools]
    return float(np.average(prices, weights=weights))


def _check_currencies(pools: Sequence[Pool]) -> None:
    units = list(dict.fromkeys(one.billing.currency for one in pools if one.billing.price))
    if len(units) > 1:
        raise BadInput(
            f"pools are paid in {' and '.join(units)}, which do not add up",
            remedy="Say what each kind of host costs: --c-ur and --c-r.",
        )


def _told(seen: Observation, sent: int, returned: int) -> str:
    share = returned / sent if sent else 0.0
    cheap = ", ".join(name for name in seen.unreliable if name) or "its hosts"
    return (
        f"from {seen.name}: of {sent:,} attempts on {cheap} {returned:,} returned ({share:.1%}); "
        "what is not said is taken from there"
    )
