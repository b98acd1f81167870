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
from tailrace.knowledge.characterisation import Characterisation, characterise, mixed
from tailrace.knowledge.sendings import Fate
from tailrace.planning.priced import priced
from tailrace.planning.setting import Hosts, Setting
from tailrace.pools.terms import Billing, Late, Pays, Pool, time_word

Floats = NDArray[np.float64]

T = TypeVar("T")

CENTS = 1e-4  # of a micro-unit
BY_RESULT = Billing(unit_us=1, pays=Pays.RETURNED)  # of reliable hosts of which nothing is known
ENOUGH = 5  # results of reliable hosts, before which their mean says too little


class Terms(msgspec.Struct, frozen=True, eq=False):
    """Of the pools of a bag that was seen."""

    cheap: Pool
    dear: Pool | None
    cheap_startup_us: int
    dear_startup_us: int
    dear_times: Floats  # of results there; empty: too few
    failures: Floats  # after how long they were told
    cancel: bool

    @property
    def late(self) -> bool:
        return self.cheap.late_results is Late.ACCEPT


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
    terms: Terms | None = None  # None: as in the paper
    told: tuple[str, ...] = ()  # of where it comes from, for people
    lent: int = 0  # reliable hosts, at once and at most; 0: nobody knows
    parts: tuple[Part, ...] = ()  # of several pools that are taken as one

    def with_said(self, said: Inputs) -> Given:
        """What its user says comes first."""
        share = self.share if said.reliability is None else np.array([said.reliability])
        since_s = self.since_s if said.reliability is None else np.zeros(1)
        terms = _by_mode(said.mode, self.terms)
        if terms is not None and said.t_r is not None:
            terms = replace(terms, dear_times=np.empty(0))
        return replace(
            self, since_s=since_s, share=share, terms=terms,
            tasks=_first(said.tasks, self.tasks), hosts=_first(said.unreliable, self.hosts),
            t_ur=_first(said.t_ur, self.t_ur), t_r=_first(said.t_r, self.t_r),
            c_ur=_first(said.c_ur, self.c_ur), c_r=_first(said.c_r, self.c_r),
            patience_s=_first(said.throughput_deadline, self.patience_s),
        )  # fmt: skip

    @property
    def mode(self) -> str:
        return "paper" if self.terms is None else "terms"

    def setting(self) -> Setting:
        hosts = required(self.hosts, "--unreliable", "50")
        tasks = required(self.tasks, "--tasks", "150")
        patience_s = PATIENCE * self.t_ur if self.patience_s is None else self.patience_s
        known = Setting(
            tasks, Hosts(hosts, self.turnarounds), None, patience_s, self.since_s, self.share
        )
        return self._in_paper(known) if self.terms is None else self._in_terms(known, self.terms)

    @property
    def _t_r(self) -> float:
        return self.t_ur if self.t_r is None else self.t_r

    def _in_paper(self, known: Setting) -> Setting:
        """ExPERT's own model: a result costs what its kind of host costs in T_ur or T_r, a failure
        is known by its time-out alone, and what comes later is ignored."""
        dear = Hosts(known.cheap.hosts, np.array([self._t_r]), per_result=self.c_r * self._t_r)
        cheap = replace(known.cheap, per_result=self.c_ur * self.t_ur)
        return replace(known, cheap=cheap, dear=dear)

    def _in_terms(self, known: Setting, terms: Terms) -> Setting:
        """As the scheduler will find them."""
        hosts, times = known.cheap.hosts, terms.dear_times
        paid = BY_RESULT if terms.dear is None else terms.dear.billing
        return replace(
            known,
            cheap=priced(hosts, self.turnarounds, terms.cheap.billing, terms.cheap_startup_us,
                         self.c_ur),
            dear=priced(hosts, times if times.size else np.array([self._t_r]), paid,
                        terms.dear_startup_us, self.c_r),
            failures=terms.failures, retry_first=True, late=terms.late, cancel=terms.cancel,
        )  # fmt: skip


class Part(msgspec.Struct, frozen=True, eq=False):
    """One of several pools that are taken as one."""

    pool: str
    given: Given
    share: float  # of the tasks, that it would see to


def _by_mode(mode: str | None, terms: Terms | None) -> Terms | None:
    if mode == "terms" and terms is None:
        raise BadInput(
            "--mode terms: the terms of no pool are known",
            remedy="Name a bag that has run: --from BAG; or leave --mode out.",
        )
    return None if mode == "paper" else terms


def _first(said: T | None, seen: T) -> T:
    return seen if said is None else said


def of_numbers(path: Path, method: str) -> Given:
    """A list of turnarounds; or a table of attempts, whose shares and hosts are seen, too."""
    found = characterise(read_attempts(path), method=method)
    times = found.turnaround.points()
    hosts = None if found.size is None else found.size.hosts
    return Given(times, np.zeros(1), _share(found), hosts=hosts, t_ur=float(times.mean()))


def of_attempts(said: Inputs) -> Given:
    seen = observed(said.source, said.server, young=said.like is not None)
    names = seen.unreliable
    whole = _of_pools(seen, names, _known(seen, names, said))
    several = len(names) > 1 and all(seen.sendings.of(name).returned >= ENOUGH for name in names)
    whole = replace(whole, parts=_parts(seen, said.method) if several else ())
    if said.like is None:
        return whole
    return replace(whole, told=(*whole.told, f"beside it the shape of {said.like} is taken"))


def of_others(said: Inputs) -> Given:
    """Of this bag nothing is known yet, but perhaps its mean."""
    other = _like(said)
    times = other.turnaround.points()
    return Given(
        times, np.zeros(1), _share(other), t_ur=float(times.mean()),
        told=(f"as {said.like}, until results of this bag are there",),
    )  # fmt: skip


def _known(seen: Observation, names: tuple[str, ...], said: Inputs) -> Characterisation:
    """With another run's shape, as far as the bag's own results do not outweigh it."""
    if said.like is None:
        return seen.characterise(names, method=said.method)
    if not seen.sendings.of(*names).returned:
        return _like(said)
    return _like(said, seen.characterise(names, method=said.method))


def _like(said: Inputs, own: Characterisation | None = None) -> Characterisation:
    other = observed(said.like, said.server).characterise(method=said.method)
    return mixed(own, other, said.t_ur)


def _of_pools(seen: Observation, names: tuple[str, ...], found: Characterisation) -> Given:
    """Taken as one."""
    times, dear = found.turnaround.points(), _dear_times(seen)
    return Given(
        times, np.zeros(1), _share(found),
        tasks=seen.tasks,
        hosts=None if found.size is None else found.size.hosts,
        t_ur=float(times.mean()),
        t_r=float(dear.mean()) if dear.size >= ENOUGH else None,
        c_ur=_cents_per_s(seen, names),
        c_r=_cents_per_s(seen, _reliable(seen)),
        patience_s=seen.timeout_s,
        terms=_terms(seen, names, found, dear),
        lent=sum(seen.pools[name].max for name in _reliable(seen) if name not in names),
        told=(_told(seen, found.sent, found.returned),),
    )  # fmt: skip


def _parts(seen: Observation, method: str) -> tuple[Part, ...]:
    """Each does as many tasks as it returns results beside the others."""
    pools = [(name,) for name in seen.unreliable]
    alone = [_of_pools(seen, one, seen.characterise(one, method=method)) for one in pools]
    if any(one.hosts is None for one in alone):
        return ()
    rates = [(one.hosts or 0) * float(one.share[-1]) / one.t_ur for one in alone]
    found = zip(seen.unreliable, alone, rates, strict=True)
    return tuple(Part(name, one, rate / sum(rates)) for name, one, rate in found)


def _reliable(seen: Observation) -> list[str]:
    return [pool.name for pool in seen.pools.values() if pool.reliable]


def _terms(
    seen: Observation, names: tuple[str, ...], found: Characterisation, dear: Floats
) -> Terms | None:
    """Of several pools those that most was sent to."""
    cheap = _main(seen, [name for name in names if name in seen.pools])
    if cheap is None:
        return None
    other = _main(seen, [name for name in _reliable(seen) if name not in names])
    return Terms(
        cheap, other, _startup_us(seen, cheap), 0 if other is None else _startup_us(seen, other),
        np.sort(dear) if dear.size >= ENOUGH else np.empty(0), found.failures_s, seen.ends_losers,
    )  # fmt: skip


def _main(seen: Observation, names: Sequence[str]) -> Pool | None:
    pools = [seen.pools[name] for name in names]
    return max(pools, key=lambda pool: seen.sendings.of(pool.name).count) if pools else None


def _startup_us(seen: Observation, pool: Pool) -> int:
    return seen.startup_us.get(pool.name, pool.startup_us)


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


def said_mode(given: Given) -> str:
    """In words, by what the figures are reckoned."""
    terms = given.terms
    if terms is None:
        return "in the paper's mode: results are paid, failures known by their time-outs alone"
    others = "" if terms.dear is None else f" and {terms.dear.name}"
    failures = "failures are told" if terms.failures.size else "failures known by their time-outs"
    late = "late results count" if terms.late else "late results are ignored"
    losers = "losers are ended" if terms.cancel else "losers run on"
    return (
        f"in the terms of {terms.cheap.name or 'its pool'}{others} ({_paid(terms, given.c_ur)}, "
        f"{failures}, {late}, {losers}); --mode paper: as in the paper"
    )


def _paid(terms: Terms, rate: float) -> str:
    """At that rate, which may be said beside what the pool has."""
    billing, startup_us = terms.cheap.billing, terms.cheap_startup_us
    if not rate:
        paid = "machines are free"
    elif billing.pays is Pays.LEASE:
        paid = f"leases are paid by the {time_word(billing.unit_us)}"
    else:
        paid = "results are paid"
    return paid + (f", {startup_us / 1e6:,.0f} s to come" if startup_us >= 500_000 else "")


def _told(seen: Observation, sent: int, returned: int) -> str:
    share = returned / sent if sent else 0.0
    cheap = ", ".join(name for name in seen.unreliable if name) or "its hosts"
    return (
        f"from {seen.name}: of {sent:,} attempts on {cheap} {returned:,} returned ({share:.1%}); "
        "what is not said is taken from there"
    )
