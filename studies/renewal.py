"""What renewal theory says of a machine that is up, down, and up again.

It is up for U(a, b) and runs jobs of length t. Two cases have formulas. A machine that always has a
job: an up time of length u completes ⌊u/t⌋ jobs and loses the next. A machine that mostly idles: a
job begins at a random instant of an up time, what is left of it has the density P(U > x)/E[U], and
the job is lost if that is less than t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad

from tailrace.simulation.laws import Law, Uniform


class Lost(NamedTuple):
    """Percent of jobs, of work done, and whether the machine was taken to be always busy."""

    jobs: float
    work: float
    busy: bool


def availability(up: Uniform, down: Uniform) -> float:
    return 100 * up.mean() / (up.mean() + down.mean())


def lost(up: Uniform, down: Uniform, length: float, per_machine: float) -> Lost:
    """`per_machine`: jobs that come in a unit of time, for each machine."""
    needed = per_machine * _integral(up, length, lambda _: 1.0)  # up time that the jobs take
    idle = needed < availability(up, down) / 100
    return _at_random(up, length) if idle else _always_busy(up, length)


def failures(up: Law, steps: int) -> float:
    """Expected of a machine that begins new, when repairs take no time: the renewal function,
    M(t) = F(t) + ∫ M(t - x) dF(x), in steps of the law's unit."""
    falls = up.cdf(np.arange(steps + 1.0))
    rises = np.diff(falls, prepend=0.0)
    found = np.zeros(steps + 1)
    for t in range(1, steps + 1):
        found[t] = falls[t] + found[t - 1 :: -1] @ rises[1 : t + 1]
    return float(found[steps])


def _always_busy(up: Uniform, length: float) -> Lost:
    done, k = 0.0, 1
    while k * length < up.high:
        done += _longer(up, k * length)
        k += 1
    return Lost(100 / (1 + done), 100 * (1 - done * length / up.mean()), True)


def _at_random(up: Uniform, length: float) -> Lost:
    hit = _integral(up, length, lambda _: 1.0) / up.mean()
    wasted = _integral(up, length, lambda x: x) / up.mean()
    return Lost(100 * hit, 100 * wasted / (wasted + (1 - hit) * length), False)


def _integral(up: Uniform, to: float, weight: Callable[[float], float]) -> float:
    """Of weight(x) P(U > x), from 0."""
    ends = [x for x in (up.low, up.high) if x < to]
    value, _ = quad(lambda x: weight(x) * _longer(up, x), 0, to, points=ends or None)
    return float(value)


def _longer(up: Uniform, x: float) -> float:
    return min(max((up.high - x) / (up.high - up.low), 0.0), 1.0)
