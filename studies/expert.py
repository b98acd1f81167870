"""ExPERT 6.1: seven fixed strategies beside those that it finds."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from studies.lived import Lived, lived
from studies.runs import SCENARIOS, Runs, over
from studies.table import mean, table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims, known
from tailrace.planning import decision, grids
from tailrace.planning.estimate import sample
from tailrace.planning.frontier import Frontier, frontier
from tailrace.planning.setting import Hosts, Setting
from tailrace.planning.strategy import Strategy
from tailrace.simulation.running import Running

SCENARIO = "expert.toml"
TASKS, HOSTS, T_UR, SHARE, PATIENCE = 150, 50, 2066.0, 0.827, 8264.0
C_UR, C_R = 1.0, 34.0  # cents an hour
RATIOS = (0.1, 0.3, 0.5)
T_R = (2066.0, 2330.0)  # the second is what the paper's point for AR means
REPETITIONS = 200
RECOMMENDED = Strategy(3, T_UR, 2 * T_UR, 0.02)


class Fixed(NamedTuple):
    """How it is written in a bag, and what the paper has for it, where it says so."""

    changes: tuple[str, ...]
    paper: str = ""


def tailed(**options: float | str) -> tuple[str, ...]:
    given = ", ".join(f"{key} = {value}" for key, value in options.items())
    return (f'bags.b.replication={{strategy = "ntdmr", {given}, patience_s = {PATIENCE}, '
            f"turnaround_s = {T_UR}, cancel = false}}",)  # fmt: skip


def _budget(dollars: float) -> tuple[str, ...]:
    cheap, dear = C_UR * T_UR / 3600 / 100, C_R * T_UR / 3600 / 100
    return (f'bags.b.replication={{strategy = "budget", amount = {dollars}, cheap = {cheap:.6f}, '
            f"dear = {dear:.6f}, mr = MR, patience_s = {PATIENCE}, cancel = false}}",)  # fmt: skip


NEVER = "B = 2/3 cent a task"  # pays for no reliable result as long as it matters: it is AUR

FIXED = {
    "AR": Fixed(('bags.b.pools=["cloud"]',), "70,000 s, 22 cent"),
    "TRR": Fixed(tailed(n=0, t_s=0.0, d_s=PATIENCE, mr="MR")),
    "TR": Fixed(tailed(n=0, t_s=PATIENCE, d_s=PATIENCE, mr="MR")),
    "AUR": Fixed(tailed(n=-1, t_s=PATIENCE, d_s=PATIENCE, mr="MR")),
    "B = 7.5 USD": Fixed(_budget(7.5)),
    NEVER: Fixed(_budget(1.0)),
    "CN∞": Fixed(()),
    "CN1T0": Fixed(tailed(n=1, t_s=0.0, d_s=PATIENCE, mr="MR", combine="true")),
}
OURS = "recommended"
CASES = {
    **FIXED,
    OURS: Fixed(tailed(n=3, t_s=T_UR, d_s=2 * T_UR, mr=0.02), "15,640 s, 0.78 cent"),
}


class Found(NamedTuple):
    """Over the runs."""

    makespan_s: Running
    tail_s: Running
    cents: Running  # a task

    @property
    def product(self) -> float:
        """As the paper has it (6.1): of the tail, whose means are multiplied."""
        return self.tail_s.mean * self.cents.mean


By = dict[float, dict[str, Found]]  # by M_r and name


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    found = {t_r: {ratio: measured(runs, ratio, t_r) for ratio in RATIOS} for t_r in T_R}
    fronts = {t_r: {ratio: front_of(ratio, t_r) for ratio in RATIOS} for t_r in T_R}
    return PAGE.format(
        seeds=runs.seeds, repetitions=REPETITIONS,
        claims=claims(*judged(found, fronts)), patience=f"{PATIENCE:,.0f}",
        whole=f"{_gains(found[T_R[0]], ('AUR',), _whole)[0.1]:.0%}",
        fixed=table(HEAD, rows(found[T_R[0]])), slower=table(HEAD, rows(found[T_R[1]])),
        fronts=table(
            ("T_r, s", "M_r up to", "efficient", "fastest tail, s", "its cent a task",
             "cheapest: cent a task", "its tail, s", "least product, s · cent", "of"),
            [_front_row(t_r, ratio, fronts[t_r][ratio]) for t_r in T_R for ratio in RATIOS],
        ),
    )  # fmt: skip


def measured(runs: Runs, ratio: float, t_r: float) -> dict[str, Found]:
    dear = round(ratio * HOSTS)
    changes = {
        name: [f"pools.cloud.max={dear}", f"pools.cloud.slope={t_r}",
               *(one.replace("MR", str(ratio)) for one in case.changes)]
        for name, case in CASES.items()
    }  # fmt: skip
    found = runs.told(SCENARIO, changes, lived)
    return {name: _found(found[name]) for name in CASES}


def _found(some: list[Lived]) -> Found:
    return Found(
        over(some, lambda one: one.makespan_s),
        over(some, lambda one: one.tail_s),
        over(some, lambda one: one.cents),
    )


def setting(t_r: float) -> Setting:
    """As in the scenario, whose law it takes."""
    text = (SCENARIOS / SCENARIO).read_text()
    values = tomllib.loads(text)["pools"]["grid"]["luck"]["values"]
    return Setting(
        tasks=TASKS,
        cheap=Hosts(HOSTS, np.array(values, float), per_result=C_UR * T_UR / 3600),
        dear=Hosts(HOSTS, np.array([t_r]), per_result=C_R * t_r / 3600),
        patience_s=PATIENCE, returned_from=np.zeros(1), returned=np.array([SHARE]),
    )  # fmt: skip


def front_of(ratio: float, t_r: float) -> Frontier:
    return frontier(sample(setting(t_r), grids.paper(T_UR, ratio), REPETITIONS))


HEAD = ("strategy", "paper", *(f"M_r {ratio:g}{word}" for ratio in RATIOS
        for word in (": s", ": tail, s", ": cent a task", ": tail × cent")))  # fmt: skip


def rows(found: By) -> list[tuple[str, ...]]:
    found_rows = []
    for name, case in CASES.items():
        cells = []
        for ratio in RATIOS:
            one = found[ratio][name]
            cells += [mean(one.makespan_s, 0), mean(one.tail_s, 0), mean(one.cents, 2),
                      f"{one.product:,.0f}"]  # fmt: skip
        found_rows.append((name, case.paper, *cells))
    return found_rows


def _front_row(t_r: float, ratio: float, front: Frontier) -> tuple[str, ...]:
    points = front.efficient()
    fast, cheap = points[0].estimate, points[-1].estimate
    best = decision.prefer(front, "product")
    least = best.estimate.tail_makespan.mean * best.estimate.cost_per_task.mean
    return (
        f"{t_r:g}", f"{ratio:g}", f"{len(points)} of {len(front.points)}",
        f"{fast.tail_makespan.mean:,.0f}", f"{fast.cost_per_task.mean:.2f}",
        f"{cheap.cost_per_task.mean:.3f}", f"{cheap.tail_makespan.mean:,.0f}",
        f"{least:,.0f}", str(best.strategy),
    )  # fmt: skip


def judged(found: dict[float, By], fronts: dict[float, dict[float, Frontier]]) -> list[Claim]:
    """Each for all bounds of M_r, with T_r = T_ur; of AR the paper's figure needs the other T_r."""
    here, front = found[T_R[0]], fronts[T_R[0]]
    others = [name for name in FIXED if name not in ("AUR", NEVER)]
    in_tail = [name for name in others if name != "CN1T0"]
    spared = {ratio: [name for name in others if not _is_dominated(one[name], front[ratio])]
              for ratio, one in here.items()}  # fmt: skip
    in_tail = {ratio: [name for name in names if name != "CN1T0"]
               for ratio, names in spared.items()}  # fmt: skip
    cheapest = {ratio: min(each.cents.mean for each in one.values()) / one["AUR"].cents.mean - 1
                for ratio, one in here.items()}  # fmt: skip
    saves = _gains(here, ("CN∞",), lambda one: one.cents.mean)
    sooner = _gains(here, ("CN∞",), lambda one: one.makespan_s.mean)
    aur = _gains(here, ("AUR",), lambda one: one.product)
    rest = [name for name in others if name != "AR"]
    least, most = (_gains(here, rest, lambda one: one.product, of) for of in (min, max))
    dear = _gains(here, ("AR",), lambda one: one.product)
    ar = found[T_R[1]][0.1]["AR"]
    return [
        known(Claim("the frontier dominates all fixed strategies but AUR", "none is left",
                    _left(spared), not any(spared.values()))),
        Claim("with M_r 0.1 it dominates those that leave reliable machines to the tail, and CN∞",
              "none is left", ", ".join(in_tail[0.1]) or "none", not in_tail[0.1]),
        known(Claim("with 0.3 and 0.5 it dominates those, too", "none is left", _left(in_tail),
                    not any(in_tail.values()))),
        Claim("nothing is cheaper than AUR", "2 %", _each(cheapest, "+.1%"),
              min(cheapest.values()) >= -0.02),
        known(Claim("recommended against CN∞: cost", "−72 %, within 10 points",
                    _each(saves, ".0%"), abs(saves[0.1] - 0.72) < 0.1)),
        known(Claim("recommended against CN∞: makespan", "−33 %, within 10 points",
                    _each(sooner, ".0%"), abs(sooner[0.1] - 0.33) < 0.1)),
        Claim("its tail × cost is the least", "of all fixed ones",
              _each({ratio: min(aur[ratio], least[ratio], dear[ratio]) for ratio in RATIOS}, ".0%"),
              all(min(aur[ratio], least[ratio], dear[ratio]) > 0 for ratio in RATIOS)),
        known(Claim("AUR is the next best, which it beats by a quarter", "25 %, within 10 points",
                    _each(aur, ".0%"),
                    all(abs(aur[one] - 0.25) < 0.1 and aur[one] <= least[one] for one in RATIOS))),
        known(Claim("it beats the others by 72 to 78 %", "62 to 88 %",
                    _each(least, ".0%", most),
                    all(least[one] > 0.62 and most[one] < 0.88 for one in RATIOS))),
        known(Claim("AR is the worst of them", "more than all others", _each(dear, ".0%"),
                    all(dear[one] > most[one] for one in RATIOS))),
        known(Claim("AR: about 22 cent a task", "10 %, with T_r 2330 s",
                    f"{ar.cents.mean:.1f} cent, {ar.makespan_s.mean:,.0f} s",
                    abs(ar.cents.mean / 22 - 1) < 0.1)),
    ]  # fmt: skip


def _whole(one: Found) -> float:
    """What Figure 9b compares."""
    return one.makespan_s.mean * one.cents.mean


def _gains(
    here: By, names: Sequence[str], measure: Callable[[Found], float],
    of: Callable[[Iterable[float]], float] = min,
) -> dict[float, float]:  # fmt: skip
    """By how much the recommended one is below those, as a share of them; by M_r."""
    return {
        ratio: of(1 - measure(one[OURS]) / measure(one[name]) for name in names)
        for ratio, one in here.items()
    }


def _left(names: dict[float, list[str]]) -> str:
    return "; ".join(f"{ratio:g}: {', '.join(some) or 'none'}" for ratio, some in names.items())


def _each(values: dict[float, float], form: str, upto: dict[float, float] | None = None) -> str:
    """With M_r 0.1, 0.3 and 0.5."""
    if upto is None:
        return ", ".join(f"{value:{form}}" for value in values.values())
    return ", ".join(f"{value:{form}} to {upto[ratio]:{form}}" for ratio, value in values.items())


def _is_dominated(one: Found, front: Frontier) -> bool:
    return any(
        point.estimate.makespan.mean < one.makespan_s.mean
        and point.estimate.cost_per_task.mean < one.cents.mean
        for point in front.efficient()
    )


PAGE = """\
# ExPERT's strategies beside fixed ones

Section 6.1 of its paper: 150 tasks, 50 unreliable machines of which 82.7 % of what is sent to them
comes back, and a few reliable ones at 34 times the price. Seven strategies that people had used
before, beside what ExPERT finds. `make studies`, or `python -m studies expert`, writes this page.

The fixed strategies and the recommended one run through the real scheduler in the virtual world,
{seeds} runs each (`studies/scenarios/expert.toml`, and the strategies as a bag file would have
them), with what losers cost that return after the end; the frontier is that of `tailrace plan
frontier`, with {repetitions} repetitions of 420 strategies and more. Figure 6 of the paper, the law
of turnarounds, is a picture: we use an exponential law from 1000 s on with the paper's mean of 2066
s. So the orderings and the rough sizes are to hold, not the digits.

Three values are those with M_r up to 0.1, 0.3 and 0.5, that is with 5, 15 and 25 reliable machines.

{claims}

## The strategies

*Tail* is the time from when fewer tasks are left than there are unreliable machines, 50, and *tail
× cent* is what the paper compares. With T_r 2,066 s:

{fixed}

And with T_r 2,330 s:

{slower}

B is printed in the paper as 7.5 USD, and as 2/3 cent for each of 150 tasks, which would be 1 USD:
both are here. With 1 USD there is never the money for all that is left, so it is AUR.

What is missed, and why. CN1T0 uses the reliable machines before the tail as well, which the
strategies of the frontier keep idle until then: so it is faster than each of these, at several
times the cost. With 25 reliable machines TRR is itself a strategy of the frontier, its fastest end:
what is left goes to them in two rounds at once.

What is recommended gains more here than in the paper, where it took 15,640 s: our law of
turnarounds is not the paper's, which is a picture. AUR waits for a time-out of {patience} s,
often two in a row; where the tail alone is compared, as the paper's text has it, that is nearly all
there is. By the whole makespan, as on its Figure 9b, what is recommended is {whole} below AUR.
CN∞ has the same time-outs to its last task and pays more results the more reliable machines there
are: with 25 of them it is worse than AR, which with as many is done with its last 50 tasks in two
rounds.

## The frontiers

{fronts}

The paper's own point for AR (22 cent, about 70,000 s on five machines) means that a reliable
machine takes 2,330 s for a task, not 2,066 s: so both are here.

What M_r brings is looked at [closely](expert-frontier.md).
"""
