"""What is known of a pool, or of several taken as one: F_s, γ(t'), hosts, failures, run times.

How F_s and γ are estimated is a method with a name. A user's package may add its own: who loads it
enters it in `METHODS` before anything is characterised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tailrace.errors import BadInput
from tailrace.knowledge import failures, reliability, turnaround
from tailrace.knowledge.incidence import incidence
from tailrace.knowledge.poolsize import PoolSize, pool_size
from tailrace.knowledge.reliability import Reliability
from tailrace.knowledge.sendings import Fate, Floats, Sendings
from tailrace.knowledge.turnaround import MOST_POINTS, Turnaround

MEASURED = "measured"


class Online(NamedTuple):
    """It is asked at the beginning of the tail, or later, of what was known then."""

    tail_s: float
    timeout_s: float = math.inf  # of what was sent until then


Method = Callable[[Sendings, Online | None], tuple[Turnaround, Reliability]]


class Mean(NamedTuple):
    value: float
    error: float  # standard error
    of: int


class Characterisation(msgspec.Struct, frozen=True, eq=False):
    pools: tuple[str, ...]
    method: str
    turnaround: Turnaround
    reliability: Reliability
    size: PoolSize | None = None  # None: it cannot be told, or was not measured
    failures_s: Floats = np.empty(0)  # as `failures.reported_s`
    run: Mean | None = None  # by the clocks of the hosts, of those that returned
    sent: int = 0
    returned: int = 0


def characterise(
    sendings: Sendings,
    online: Online | None = None,
    *,
    method: str = MEASURED,
    tail_s: float | None = None,
    points: int = MOST_POINTS,
) -> Characterisation:
    """Of all of them as one pool; `sendings.of(...)` chooses. Without `online` all is known. What
    comes after the moment of `online` is not looked at. `tail_s`: when the tail began, if that was
    another moment; until then there was enough to do."""
    seen = sendings if online is None else _as_of(sendings, online)
    how, share = _method(method)(seen, online)
    return Characterisation(
        tuple(name for n, name in enumerate(seen.pools) if (seen.pool == n).any()),
        method,
        how,
        share,
        pool_size(seen, online.tail_s if tail_s is None and online is not None else tail_s),
        failures.reported_s(seen, points),
        _run(seen),
        seen.count,
        seen.returned,
    )


def given(
    turnarounds_s: Floats, share: float = 1.0, failures_s: Floats | None = None
) -> Characterisation:
    """By numbers of which the user is sure."""
    how, known = turnaround.given(turnarounds_s), reliability.constant(share)
    return Characterisation((), "given", how, known, None, _or_none(failures_s))


def mixed(
    own: Characterisation | None, other: Characterisation, mean_s: float | None = None
) -> Characterisation:
    """Another run's shape, scaled to this bag's mean, until its own results outweigh it."""
    own_times = None if own is None else own.turnaround
    times = turnaround.mixed(own_times, other.turnaround, mean_s)
    if own is None:
        return replace(other, turnaround=times, size=None, sent=0, returned=0)
    share = reliability.mixed(own.reliability, other.reliability)
    late = own.failures_s if own.failures_s.size else other.failures_s
    return replace(own, turnaround=times, reliability=share, failures_s=late)


# methods


def as_in_paper(seen: Sendings, online: Online | None) -> tuple[Turnaround, Reliability]:
    """ExPERT, 4.3: F_s of the results that are here, γ by equation 2 in the partial epoch."""
    times = turnaround.of_results(seen)
    full = reliability.counted(times)
    if online is None:
        return times, reliability.offline(seen, full)
    partial = reliability.extrapolated(times, online.tail_s)
    return times, reliability.online(seen, *online, full, partial)


def as_measured(seen: Sendings, online: Online | None) -> tuple[Turnaround, Reliability]:
    """With regard to what is still out, and to failures that are told of at once. What is more
    likely than anything needs no floor, which would raise the mean of many sets."""
    times, share = turnaround.of_all(seen), _overall(seen)
    known = failures.known(seen)
    full = reliability.likeliest(times, known, share)
    if online is None:
        return times, reliability.offline(seen, full)
    partial = reliability.likeliest(times, known, share, worth=1.0)
    return times, reliability.online(seen, *online, full, partial, floor=False)


METHODS: dict[str, Method] = {MEASURED: as_measured, "paper": as_in_paper}


def _method(name: str) -> Method:
    found = METHODS.get(name)
    if found is None:
        raise BadInput(
            f"there is no method of characterisation {name!r}",
            remedy=f"It is one of: {', '.join(sorted(METHODS))}.",
        )
    return found


def _as_of(sendings: Sendings, online: Online) -> Sendings:
    return sendings.as_of(online.tail_s).given_up(online.timeout_s)


def _overall(seen: Sendings) -> float:
    found = incidence(seen)
    returned, failed = float(found.returned.sum()), float(found.failed.sum())
    return returned / (returned + failed) if returned + failed else 1.0


def _run(seen: Sendings) -> Mean | None:
    run_s = seen.run_s[seen.how(Fate.RETURNED) & np.isfinite(seen.run_s)]
    if not run_s.size:
        return None
    error = float(run_s.std(ddof=1)) / math.sqrt(run_s.size) if run_s.size > 1 else math.inf
    return Mean(float(run_s.mean()), error, run_s.size)


def _or_none(times_s: Floats | None) -> Floats:
    return np.empty(0) if times_s is None else np.sort(np.asarray(times_s, np.float64))
