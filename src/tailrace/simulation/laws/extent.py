"""How far a law reaches: one with values beyond all time is a slip, and cannot be simulated."""

from __future__ import annotations

import numpy as np

from tailrace.quantities import SECOND
from tailrace.simulation.laws.law import Law

LONGEST_S = 2**62 / SECOND  # 146,000 years: so far goes the time of the world
LARGEST = 1e300
RARE = 1e-9  # who draws a billion values may meet one beyond


def check_extent(law: Law, *, times: bool) -> None:
    with np.errstate(all="ignore"):
        value = law.quantile(np.array([1 - RARE])).item()
    if times and not value <= LONGEST_S:
        raise ValueError(f"{_name(law)} reaches {value:.3g} s, beyond all time (146,000 years)")
    if not abs(value) <= LARGEST:
        raise ValueError(f"{_name(law)} reaches beyond all numbers")


def _name(law: Law) -> str:
    return f"this {type(law).__name__.lower()} law"
