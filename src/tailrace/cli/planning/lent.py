"""How many reliable hosts may be used at once, as a share of the others: `--mr-max`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.cli.planning.seen import Given

UNKNOWN = 0.1  # where nobody says, and no pool is known
MOST = 1.0  # of what pools lend, unless more is said


def most_ratio(said: float | None, known: Given) -> float:
    """No more than the pools lend of which something is known."""
    if said is not None and not 0 < said < math.inf:
        raise BadInput(f"--mr-max {said:g}: it is above 0", remedy="For example: --mr-max 0.1")
    if not known.lent or not known.hosts:
        return UNKNOWN if said is None else said
    most = known.lent / known.hosts
    if said is None:
        return min(most, MOST)
    if round(said * known.hosts, 9) <= known.lent:
        return said
    click.echo(
        f"tailrace: --mr-max {said:g}: the bag's pools lend {known.lent:,} reliable hosts at most, "
        f"so it is {most:.3g} of {known.hosts:,} unreliable ones",
        err=True,
    )
    return most
