"""What it brings to end attempts whose task has its result: makespan and cost, with and without.

ExPERT leaves them running (4.4); NTDMr here may end them (`cancel`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from studies.expert import OURS, PATIENCE, SCENARIO, T_UR, setting, tailed
from studies.lived import Lived, lived
from studies.runs import Runs, over
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims
from tailrace.planning.estimate import sample
from tailrace.planning.strategy import Strategy

REPETITIONS = 2000
MR = 0.1
STRATEGIES = {
    "TRR": Strategy(0, 0.0, PATIENCE, MR),
    "TR": Strategy(0, PATIENCE, PATIENCE, MR),
    "AUR": Strategy(None, PATIENCE, PATIENCE, 0.0),
    OURS: Strategy(3, T_UR, 2 * T_UR, 0.02),
    "least product": Strategy(3, 0.75 * T_UR, 3 * T_UR, 0.02),
    "many copies": Strategy(3, 0.0, 3 * T_UR, MR),
    "copies without end": Strategy(None, 0.5 * T_UR, 2 * T_UR, 0.0),
}
NAMES = ("makespan", "tail_makespan", "cost_per_task")


class Ended(NamedTuple):
    """One strategy. Where losers run on, and where they are ended."""

    name: str
    model: tuple[Lived, Lived]
    runs: tuple[list[Lived], list[Lived]]

    def gain(self, which: str) -> float:
        """As the model has it: a share of what it is where losers run on."""
        left, ended = (getattr(one, which) for one in self.model)
        return float(1 - ended / left)

    def gained(self, which: str) -> tuple[float, float]:
        """By the scheduler, run by run, with the half width of its interval."""
        left = np.mean([getattr(one, which) for one in self.runs[0]])
        both = zip(*self.runs, strict=True)
        gaps = over(both, lambda two: getattr(two[0], which) - getattr(two[1], which))
        half = gaps.half_width if gaps.count > 1 else 0.0
        return gaps.mean / left, half / left


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    found = compared(runs)
    return PAGE.format(
        seeds=runs.seeds, repetitions=f"{REPETITIONS:,}", claims=claims(*judged(found)),
        gains=table(HEAD, [_row(one) for one in found]),
    )  # fmt: skip


def compared(runs: Runs, repetitions: int = REPETITIONS) -> list[Ended]:
    cases = {(name, cancel): _changes(one, cancel=cancel)
             for name, one in STRATEGIES.items() for cancel in (False, True)}  # fmt: skip
    ran = runs.told(SCENARIO, cases, lived)
    models = [_modelled(cancel, repetitions) for cancel in (False, True)]
    return [Ended(name, (models[0][name], models[1][name]), (ran[name, False], ran[name, True]))
            for name in STRATEGIES]  # fmt: skip


def _changes(one: Strategy, *, cancel: bool) -> tuple[str, ...]:
    (written,) = tailed(n=-1 if one.n is None else one.n, t_s=one.t_s, d_s=one.d_s, mr=one.mr)
    return (written.replace("cancel = false", f"cancel = {str(cancel).lower()}"),)


def _modelled(cancel: bool, repetitions: int) -> dict[str, Lived]:
    what = replace(setting(T_UR), cancel=cancel, retry_first=True)
    found = sample(what, list(STRATEGIES.values()), repetitions)
    rows = zip(*(found.means(name).tolist() for name in (*NAMES, "reliable_sent")), strict=True)
    return dict(zip(STRATEGIES, (Lived(*row) for row in rows), strict=True))


HEAD = ("strategy", "N, T, D, M_r", "tail, s", "losers ended", "gain", "cent a task",
        "losers ended", "gain", "scheduler: gain in the tail", "in cost")  # fmt: skip


def _row(one: Ended) -> tuple[str, ...]:
    left, ended = one.model
    ran = (one.gained(which) for which in ("tail_s", "cents"))
    return (
        one.name, str(STRATEGIES[one.name]), f"{left.tail_s:,.0f}", f"{ended.tail_s:,.0f}",
        f"{one.gain('tail_s'):.1%}", f"{left.cents:.3f}", f"{ended.cents:.3f}",
        f"{one.gain('cents'):.1%}", *(f"{mean:.1%} ± {half:.1%}" for mean, half in ran),
    )  # fmt: skip


def judged(found: list[Ended]) -> list[Claim]:
    cost = {one.name: one.gain("cents") for one in found}
    tail = {one.name: one.gain("tail_s") for one in found}
    dearest, fastest = max(cost, key=cost.__getitem__), max(tail, key=tail.__getitem__)
    far = max(
        abs(one.gained(which)[0] - one.gain(which)) - 2 * one.gained(which)[1]
        for one in found
        for which in ("tail_s", "cents")
    )
    return [
        Claim("to end losers makes nothing dearer", "1 %", f"at least {min(cost.values()):+.1%}",
              min(cost.values()) > -0.01),
        Claim("nor any tail longer", "1 %", f"at least {min(tail.values()):+.1%}",
              min(tail.values()) > -0.01),
        Claim("where tasks are copied most it brings more than the recommended strategy",
              "in cost", f"{dearest}: {cost[dearest]:.1%}, beside {cost[OURS]:.1%}",
              cost[dearest] > cost[OURS]),
        Claim("it shortens some tail", "more than 5 %", f"{fastest}: {tail[fastest]:.1%}",
              tail[fastest] > 0.05),
        Claim("the scheduler gains what the model says", "2 points beyond twice the interval",
              f"at worst {100 * max(far, 0):.1f} points beyond", far <= 0.02),
    ]  # fmt: skip


PAGE = """\
# What it brings to end losers

As soon as a task has its result, other attempts of it that still run are of no use. In ExPERT's
paper they run on and are paid; NTDMr ends them unless a bag says `cancel = false`. Here is the
difference for the bag of [ExPERT's strategies beside fixed ones](expert.md), with T_r = T_ur.
`make studies`, or `python -m studies expert_losers`, writes this page.

{claims}

{repetitions} repetitions of the model; beside them the scheduler in the virtual world, {seeds} runs
of each, where a run and its other have the same seed. Results that losers bring after the end of
the bag are paid. A gain is a share of what it is where losers run on.

{gains}

Two things are gained. What is ended is not paid, if its result would have come: that is most where
many copies are sent at once. And its machine is free: for a task that waits for one of the few
reliable machines, which pays where these have a queue. AUR and TR send a task again only after its
time-out, so they have no losers; nothing is gained there.
"""
