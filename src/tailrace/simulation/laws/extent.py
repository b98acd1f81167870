"""How far a law reaches: one with values beyond all time is a slip, and cannot be simulated."""

from __future__ import annotations

import math

import numpy as np

from tailrace.quantities import SECOND
from tailrace.simulation.laws.law import Law

LONGEST_S = 2**62 / SECOND  # 146,000 years: so far goes the time of the world
LARGEST = 1e300
RARE = 1e-9  # who draws a billion values may meet one beyond
ENDS = (2.0**-53, 0.5, 1 - 2.0**-53)  # the least and the greatest uniform that a stream gives
ROUNDED = 1e-9


def check_extent(law: Law, *, times: bool) -> None:
    with np.errstate(all="ignore"):
        value = law.quantile(np.array([1 - RARE])).item()
        drawn, ends = law.draw(np.array(ENDS)), law.quantile(np.array(ENDS))
    if times and not value <= LONGEST_S:
        raise ValueError(f"{_name(law)} reaches {value:.3g} s, beyond all time (146,000 years)")
    if not (abs(value) <= LARGEST and np.all(np.isfinite(drawn))):
        raise ValueError(f"{_name(law)} reaches beyond all numbers")
    if not _mean(law) <= ends.max() + ROUNDED * abs(ends.max()):
        raise ValueError(f"{_name(law)} has a mean that lies beyond all that is ever drawn")


def _mean(law: Law) -> float:
    try:
        with np.errstate(all="ignore"):
            return law.mean()
    except ArithmeticError:
        return math.inf


def _name(law: Law) -> str:
    return f"this {type(law).__name__.lower()} law"
