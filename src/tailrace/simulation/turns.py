"""Laws of being there and away in turn: what they cannot be."""

from __future__ import annotations

import numpy as np

from tailrace.bag.tables import Table
from tailrace.simulation.draws import microseconds
from tailrace.simulation.laws import Law

LEAST, MOST = 2.0**-53, 1 - 2.0**-53  # of all uniforms that are drawn
OFTEN = 0.01


def check_turns(table: Table, here: str, away: str, up: Law, down: Law | None) -> None:
    """Without any time in between, a machine would go and come for ever in one instant."""
    if not in_us(up, MOST):
        raise table.bad(here, f"{table.label(here)} is always 0: no task would ever end",
                        "give it some time")  # fmt: skip
    if down is not None and not in_us(up, OFTEN) and not in_us(down, OFTEN):
        raise table.bad(away, f"{table.label(here)} and {table.label(away)} may both be 0",
                        "give one of them at least some time: at_least = 1")  # fmt: skip


def in_us(law: Law, u: float) -> int:
    """A quantile."""
    return int(microseconds(law.quantile(np.array([u]))).item())
