"""Hosts as their pool lends them: what is paid of them, by which units, and how long they take to
come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.planning.setting import Hosts
from tailrace.pools.terms import Billing, Pays

SECOND_US = 1_000_000
CENTS = 1e-4  # of a micro-unit
NEAR_S = 1e-6
FOR_GOOD_S = 1e12  # the unit of a lease that costs nothing


def cents_per_s(billing: Billing) -> float:
    return float(billing.per_second()) * CENTS


def priced(
    hosts: int,
    times: NDArray[np.float64],
    billing: Billing,
    startup_us: int,
    rate: float | None = None,
) -> Hosts:
    """`rate`: cents per second, in place of what the pool says. What results cost rises with their
    time, and by what is left of their units."""
    rate = cents_per_s(billing) if rate is None else rate
    by_lease, seconds = rate > 0 and billing.pays is Pays.LEASE, np.maximum(times, NEAR_S)
    unit_s = billing.unit_us / SECOND_US
    return Hosts(
        hosts, seconds,
        per_result=0.0 if by_lease else rate * _left_of_units_s(billing, seconds),
        per_result_s=0.0 if by_lease else rate,
        per_lease_s=rate if by_lease else 0.0,
        unit_s=unit_s if by_lease else FOR_GOOD_S if startup_us else 0.0,
        least_s=billing.minimum_us / SECOND_US if by_lease else 0.0,
        startup_s=startup_us / SECOND_US,
        losers=billing.pays is not Pays.ACCEPTED,
    )  # fmt: skip


def _left_of_units_s(billing: Billing, seconds: NDArray[np.float64]) -> float:
    """On average."""
    units = [billing.units(round(one * SECOND_US)) for one in seconds.tolist()]
    paid_s = np.array(units) * (billing.unit_us / SECOND_US)
    return max(float(np.mean(paid_s - seconds)), 0.0)
