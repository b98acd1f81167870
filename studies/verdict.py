"""What a study claims, with the bound by which it would be refuted, and whether it was."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from studies.table import table
from tailrace.simulation.running import Running

REFUTED = "refuted"  # the word by which a page says that its study failed
MISSED = "missed, as explained below"  # what we know not to reach, or not every time
INSIDE = 0.9  # of what is foretold should be, and …
LEVEL = 0.01  # … the chance to refute what is right
HEAD = ("claim", "bound", "found", "")


class Claim(NamedTuple):
    what: str
    bound: str
    found: str
    holds: bool
    otherwise: str = f"**{REFUTED}**"

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else self.otherwise


class Apart(NamedTuple):
    """How far from what was expected, and how far it may be."""

    by: float
    most: float


def claims(*some: Claim) -> str:
    return table(HEAD, [(one.what, one.bound, one.found, one.verdict) for one in some])


def known(claim: Claim) -> Claim:
    """To miss this does not refute the study, whose page says why it is missed."""
    return claim._replace(otherwise=MISSED)


def nine_in_ten(what: str, inside: Sequence[bool]) -> Claim:
    """Of what was foretold in intervals of 90 %; so few or fewer are inside by chance …"""
    runs, found = len(inside), sum(inside)
    chance = sum(
        math.comb(runs, n) * INSIDE**n * (1 - INSIDE) ** (runs - n) for n in range(found + 1)
    )
    return Claim(what, f"p ≥ {LEVEL:g} (binomial)", f"{found} of {runs}, p = {chance:.2g}",
                 chance >= LEVEL)  # fmt: skip


def all_near(what: str, bound: str, apart: Iterable[Apart], unit: str) -> Claim:
    """The worst of them is told: that which comes nearest to its bound, or furthest beyond."""
    worst = max(apart, key=lambda one: one.by / one.most)
    found = f"at worst {_number(worst.by)} of {_number(worst.most)} {unit}".strip()
    return Claim(what, bound, found, worst.by <= worst.most)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def apart(ours: Running, expected: float, least: float) -> Apart:
    """At least so much is granted, and twice the half width of our interval: one in a thousand
    studies of twenty seeds is further off by chance."""
    half = ours.half_width if ours.count > 1 else 0.0
    return Apart(abs(ours.mean - expected), max(least, 2 * half))
