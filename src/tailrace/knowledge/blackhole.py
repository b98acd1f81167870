"""When is a host's record too bad to be chance?"""

from __future__ import annotations

import math

IMPROBABLE = 1e-3
LEAST_FAILURES = 3
LEAST_RATE = 0.01


def improbable(booked: int, runs: int, others_booked: int, others_runs: int) -> bool:
    """Would a host like the others have failed so often? A binomial tail below one in a thousand.

    The others' rate is never taken below one in a hundred, so that a first mishap in a fleet
    without failures excludes nobody.
    """
    if booked < LEAST_FAILURES:
        return False
    rate = max(LEAST_RATE, (others_booked + 0.5) / (others_runs + 1)) if others_runs else LEAST_RATE
    return rate < 1 and tail(booked, runs, rate) < IMPROBABLE


def tail(successes: int, trials: int, rate: float) -> float:
    """P(X ≥ successes) of a binomial, summed from the larger terms down."""
    total = 0.0
    for count in range(successes, trials + 1):
        term = _term(count, trials, rate)
        total += term
        if count > trials * rate and term < total * 1e-12:
            break
    return min(total, 1.0)


def _term(count: int, trials: int, rate: float) -> float:
    choose = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(choose + count * math.log(rate) + (trials - count) * math.log1p(-rate))
