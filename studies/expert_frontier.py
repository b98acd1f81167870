"""ExPERT 6.2 and 6.4: the ratio of reliable machines as a choice, and how closely to look.

of_ratio, chosen   frontiers of fixed ratios, and of all of them
searched           what each grid finds with few and many repetitions
main               the page
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from studies.expert import T_UR, setting
from studies.expert_picture import draw
from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims, known
from tailrace.planning import decision, grids
from tailrace.planning.estimate import Samples, sample
from tailrace.planning.frontier import Frontier, Point, frontier
from tailrace.planning.search import adaptive
from tailrace.planning.setting import Setting
from tailrace.planning.strategy import Strategy

RATIOS = (0.02, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5)  # seven, as in Figure 10, which does not name them
REPETITIONS = 200
MR_MAX = 0.1  # of the grids
COUNTS = (1, 10, 100)
TRUE = 2000  # repetitions, by which what was chosen is judged
TRIALS = 4  # seeds of this study for each search
SAME_TAIL_S = (6500.0, 8000.0, 10000.0)
ALL_USED = 0.95  # of the ratio

Sampler = Callable[[Sequence[Strategy]], Samples]


# ratios


def of_ratio(what: Setting, mr: float, repetitions: int = REPETITIONS) -> Frontier:
    """The paper's grid with this ratio alone."""
    some = [replace(one, mr=mr) for one in grids.paper(T_UR, grids.STEP)]
    return frontier(sample(what, some, repetitions))


def of_all(what: Setting, repetitions: int = REPETITIONS) -> Frontier:
    return frontier(sample(what, grids.paper(T_UR, RATIOS[-1]), repetitions))


def fastest(one: Frontier) -> float:
    return one.efficient()[0].estimate.tail_makespan.mean


def cost_within(one: Frontier, tail_s: float) -> float | None:
    """Of the cheapest whose tail is no longer."""
    found = [point.estimate.cost_per_task.mean for point in one.efficient()
             if point.estimate.tail_makespan.mean <= tail_s]  # fmt: skip
    return min(found, default=None)


def share_used(point: Point) -> float:
    """Of the hosts that the ratio allows, those that ever worked at once."""
    estimate, mr = point.estimate, point.strategy.mr
    allowed = point.strategy.dear_hosts(HOSTS) / HOSTS
    return estimate.used_mr.mean / (allowed or mr)


HOSTS = setting(T_UR).cheap.hosts


# grids


class Extreme(NamedTuple):
    """What is chosen, and what comes of it."""

    believed: float
    true: float


class Searched(NamedTuple):
    looked_at: int
    efficient: int
    tail: Extreme
    cost: Extreme
    product: Extreme


EXTREMES = ("tail", "cost", "product")
PREFERENCES = {"tail": "makespan", "cost": "cost", "product": "product"}


def _coarse(what: Sampler) -> Frontier:
    """Three points of T and D, two ratios."""
    times = [(0.0, 2 * T_UR), (2 * T_UR, 2 * T_UR), (0.0, 4 * T_UR), (2 * T_UR, 4 * T_UR),
             (4 * T_UR, 4 * T_UR)]  # fmt: skip
    some = [Strategy(n, t, d, mr) for n in range(4) for mr in (0.02, MR_MAX) for t, d in times]
    return frontier(what(some))


def _paper(what: Sampler) -> Frontier:
    return frontier(what(grids.paper(T_UR, MR_MAX)))


def _fine(what: Sampler) -> Frontier:
    return frontier(what(grids.fine(T_UR, MR_MAX)))


def _adaptive(what: Sampler) -> Frontier:
    return adaptive(grids.paper(T_UR, MR_MAX), what, T_UR, MR_MAX)


GRIDS = {"coarse": _coarse, "paper": _paper, "fine": _fine, "adaptive": _adaptive}


class Search(NamedTuple):
    grid: str
    repetitions: int
    seed: int


def searched(job: Search) -> Searched:
    what = setting(T_UR)

    def sampler(some: Sequence[Strategy]) -> Samples:
        possible = [one for one in some if not what.is_endless(one)]
        return sample(what, possible, job.repetitions, job.seed, endless=True)

    found = GRIDS[job.grid](sampler)
    return Searched(len(found.points), len(found.efficient()),
                    *(_extreme(what, found, one) for one in EXTREMES))  # fmt: skip


def _extreme(what: Setting, found: Frontier, which: str) -> Extreme:
    """Judged by repetitions of another seed."""
    point = decision.prefer(found, PREFERENCES[which])
    true = frontier(sample(what, [point.strategy], TRUE, seed=10**6)).points[0]
    utility = decision.UTILITIES[PREFERENCES[which]]
    return Extreme(utility(point), utility(true))


class Summed(NamedTuple):
    """Over the trials."""

    job: Search
    looked_at: float
    efficient: float
    of: dict[str, tuple[float, float, float]]  # believed, true, worst true


def summed(job: Search, some: Sequence[Searched]) -> Summed:
    of = {
        name: (float(np.mean([getattr(one, name).believed for one in some])),
               float(np.mean([getattr(one, name).true for one in some])),
               max(getattr(one, name).true for one in some))
        for name in EXTREMES
    }  # fmt: skip
    return Summed(job, float(np.mean([one.looked_at for one in some])),
                  float(np.mean([one.efficient for one in some])), of)  # fmt: skip


# the page


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where the picture goes."""
    what = setting(T_UR)
    fixed = {mr: of_ratio(what, mr) for mr in RATIOS}
    whole = of_all(what)
    draw(folder / "expert-frontier.svg", {mr: one.efficient() for mr, one in fixed.items()},
         whole.efficient())  # fmt: skip
    trials = max(runs.seeds // TRIALS, 1)
    found = search(runs, trials)
    return PAGE.format(
        repetitions=REPETITIONS, true=f"{TRUE:,}", trials=trials,
        round_s=f"{fastest(fixed[0.3]) - fastest(fixed[0.4]):,.0f}",
        claims=claims(*judged(fixed, whole), *judged_grids(found)),
        ratios=table(RATIO_HEAD, [_ratio_row(mr, one, fixed) for mr, one in fixed.items()]),
        used=table(USED_HEAD, [_used_row(one) for one in _some(whole.efficient())]),
        grids=table(GRID_HEAD, [_grid_row(one, _best(found)) for one in found]),
    )  # fmt: skip


def search(
    runs: Runs, trials: int, names: Sequence[str] = tuple(GRIDS), counts: Sequence[int] = COUNTS
) -> list[Summed]:  # fmt: skip
    jobs = [Search(name, count, seed) for name in names for count in counts
            for seed in range(1, trials + 1)]  # fmt: skip
    told = runs.each(searched, jobs)
    return [
        summed(jobs[first], told[first : first + trials]) for first in range(0, len(jobs), trials)
    ]


def _some(points: Sequence[Point], most: int = 16) -> list[Point]:
    """From one end to the other."""
    at = np.linspace(0, len(points) - 1, min(most, len(points))).round().astype(int)
    return [points[place] for place in at]


RATIO_HEAD = ("M_r", "efficient", "fastest tail, s", "beside M_r 0.3", "its cent a task",
              "cheapest: cent", "its tail, s",
              *(f"cent for a tail within {s:,.0f} s" for s in SAME_TAIL_S))  # fmt: skip
USED_HEAD = ("tail, s", "cent a task", "strategy", "M_r", "used M_r", "longest queue")
GRID_HEAD = ("grid", "repetitions", "strategies", "efficient",
             *(f"{name}: {word}" for name in ("fastest tail, s", "cheapest, cent", "product")
               for word in ("believed", "true", "beside the best", "at worst")))  # fmt: skip


def _ratio_row(mr: float, one: Frontier, fixed: dict[float, Frontier]) -> tuple[str, ...]:
    points = one.efficient()
    fast, cheap = points[0].estimate, points[-1].estimate
    within = [cost_within(one, tail_s) for tail_s in SAME_TAIL_S]
    return (
        f"{mr:g}", f"{len(points)}", f"{fast.tail_makespan.mean:,.0f}",
        f"{fast.tail_makespan.mean / fastest(fixed[0.3]) - 1:+.0%}",
        f"{fast.cost_per_task.mean:.2f}", f"{cheap.cost_per_task.mean:.3f}",
        f"{cheap.tail_makespan.mean:,.0f}",
        *("none" if cost is None else f"{cost:.3f}" for cost in within),
    )  # fmt: skip


def _used_row(point: Point) -> tuple[str, ...]:
    one = point.estimate
    return (
        f"{one.tail_makespan.mean:,.0f}", f"{one.cost_per_task.mean:.2f}", str(point.strategy),
        f"{point.strategy.mr:g}", f"{one.used_mr.mean:.3f}", f"{one.reliable_queue_max.mean:.1f}",
    )  # fmt: skip


def _best(found: Sequence[Summed]) -> dict[str, float]:
    return {name: min(one.of[name][1] for one in found) for name in EXTREMES}


def _grid_row(one: Summed, best: dict[str, float]) -> tuple[str, ...]:
    cells = []
    for name in EXTREMES:
        believed, true, worst = one.of[name]
        digits = ".3f" if name == "cost" else ",.0f"
        cells += [f"{believed:{digits}}", f"{true:{digits}}", f"{true / best[name] - 1:+.1%}",
                  f"{worst / best[name] - 1:+.1%}"]  # fmt: skip
    return (one.job.grid, f"{one.job.repetitions}", f"{one.looked_at:,.0f}",
            f"{one.efficient:.0f}", *cells)  # fmt: skip


def judged(fixed: dict[float, Frontier], whole: Frontier) -> list[Claim]:
    least = fastest(fixed[0.02])
    longer = {mr: least / fastest(one) - 1 for mr, one in fixed.items() if mr >= 0.3}
    wide = [points[-1].estimate.tail_makespan.mean / points[0].estimate.tail_makespan.mean
            for points in (fixed[0.02].efficient(), fixed[0.5].efficient())]  # fmt: skip
    cheaper = [
        (low or np.inf) <= 1.001 * (high or np.inf)
        for tail_s in SAME_TAIL_S
        for low, high in [(cost_within(fixed[0.02], tail_s), cost_within(fixed[0.5], tail_s))]
    ]
    points = whole.efficient()
    full = [share_used(one) >= ALL_USED for one in points]
    queued = [one.estimate.reliable_queue_max.mean > 0 for one in points]
    last = share_used(points[-1])
    return [
        Claim("the fastest tail with M_r 0.02", "over 5,500 s", f"{least:,.0f} s", least > 5500),
        known(Claim("it is longer than with 0.30 and above", "25 %, within 10 points of each",
                    ", ".join(f"{by:.0%} than with {mr:.2f}" for mr, by in longer.items()),
                    all(abs(by - 0.25) <= 0.1 for by in longer.values()))),
        Claim("a high M_r has a wider range of tails than a low one", "longest ÷ shortest",
              f"{wide[1]:.1f} and {wide[0]:.1f}", wide[1] > wide[0]),
        Claim("for the same tail a low M_r is no dearer", f"0.02 beside 0.5, {len(cheaper)} tails",
              f"{sum(cheaper)} of {len(cheaper)}", all(cheaper)),
        Claim("most efficient strategies use all reliable machines they may",
              "half of them, 95 % of these", f"{np.mean(full):.0%} of {len(points)}",
              float(np.mean(full)) > 0.5),
        Claim("and there is a queue for them", "most of them", f"{np.mean(queued):.0%}",
              float(np.mean(queued)) > 0.5),
        Claim("the slowest uses fewer than it may", "used below M_r", f"{last:.0%} of it",
              last < ALL_USED),
    ]  # fmt: skip


def judged_grids(found: Sequence[Summed]) -> list[Claim]:
    best = _best(found)

    def worst(grid: str, count: int, names: Sequence[str]) -> float:
        (one,) = (one for one in found if one.job.grid == grid and one.job.repetitions == count)
        return max(one.of[name][1] / best[name] - 1 for name in names)

    few, many = (worst("paper", count, ("tail", "cost")) for count in (10, 100))
    coarse, closer = worst("coarse", 100, ("tail", "cost")), worst("adaptive", 100, EXTREMES)
    paper = worst("paper", 100, EXTREMES)
    return [
        Claim("100 repetitions instead of 10 bring the paper's grid little",
              "5 points nearer to the extremes", f"{few - many:.1%}", few - many <= 0.05),
        known(Claim("a coarse grid finds the extremes", "5 %, with 100 repetitions",
                    f"{coarse:.1%} off", coarse <= 0.05)),
        known(Claim("the adaptive search is the best known, or near it",
                    "2 %, with 100 repetitions", f"{closer:.1%} off", closer <= 0.02)),
        Claim("it is nearer than the paper's grid", "with 100 repetitions, in each extreme",
              f"{closer:.1%} beside {paper:.1%} off", closer < paper),
    ]  # fmt: skip


PAGE = """\
# The frontier, looked at closely

The same bag as in [ExPERT's strategies beside fixed ones](expert.md): 150 tasks on 50 unreliable
machines, with the law of turnarounds said there. What does it bring to choose M_r as well, and how
closely must one look? Sections 6.2 and 6.4 of ExPERT's paper, and its remarks on grids.
`make studies`, or `python -m studies expert_frontier`, writes this page.

{claims}

## The ratio of reliable machines

Figure 10 of the paper has seven frontiers, each with one M_r. It does not say which seven; these
are ours, {repetitions} repetitions of 84 strategies each.

{ratios}

With M_r 0.02 there is one reliable machine, and none of the tails that are short and dear. What is
bought with it is as cheap as anywhere, or cheaper: whoever waits for it is often spared it.

The paper has its fastest tail 25 % above those with 0.30 and more. Here that holds for 0.30, and
not beyond: reliable machines all take T_r, so that what waits for them is done in whole rounds. 15
machines need a round more than 20 for the tasks of such a tail, and with 20 it is {round_s} s
shorter. Where that step lies, and with it the 25 %, is a matter of the law of turnarounds, which is
not the paper's. No bound is made wider for it.

![Frontiers of seven ratios; beside them, over the efficient strategies of all ratios up to 0.5,
the ratio allowed, the ratio used, and the longest queue](expert-frontier.svg)

The picture on the right is Figure 11: each efficient strategy of all ratios up to 0.5, with how
many reliable machines it may use, how many it used at once, and how many tasks waited for one at
most. Some of them:

{used}

As in the paper, what may be used is used, since tasks wait for it; only the slowest and cheapest
strategies leave even their one machine idle, as by then the unreliable ones have returned.

## How closely to look

Frontiers up to M_r 0.1 by four grids, with 1, 10 and 100 repetitions, and what is chosen from them:
the fastest tail, the cheapest task, the least product of both. *Believed* is what the frontier
itself says of it, *true* what {true} repetitions with other chance say; beside the best that any
of them found, on average over {trials} seeds and at worst. *Coarse* has three points of T and D and
two of M_r; *paper*, *fine* and *adaptive* are those of `tailrace plan frontier --grid`.

{grids}

The extremes are soon found, as the paper says, even by a coarse grid. What lies between is not: the
product is a fifth less in the fine grid than in the paper's, which ends at N = 3. Of one repetition
the frontier is made of those who were lucky. A search that believes them looks closer at the wrong
places; with ten it is better than the paper's grid, and with a hundred nearly the fine one, though
it looks at a quarter of the strategies. It stops when a round adds little to the area below the
frontier: then the product is some 3 % above that of the fine grid.
"""
