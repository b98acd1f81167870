"""Real traces: failures of Los Alamos, lives of preemptible machines, run times of BLAST."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from studies import data, renewal
from studies.runs import Figures, Runs, finished, over, work_lost
from studies.table import deviation, mean, table
from studies.traces_picture import draw
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Apart, Claim, all_near, apart, claims
from tailrace.simulation.fitting import Fit, best_fit, fit
from tailrace.simulation.laws import Changed, Empirical, Exponential, Gamma, Law, Lognormal, Weibull
from tailrace.simulation.running import Running
from tailrace.simulation.samples import Samples
from tailrace.simulation.traces import Interval, lifetime_law

NEEDS = "TAILRACE_DATA"
LEASED = "as seen, leased"
EXPONENTIAL = "exponential, both"
SPOTS = 50  # machines
HOURS = 180 * 24  # of the scenario
FITS = ("interval", "law", "parameter (hours)", "archive", "ours", "deviation")
LANL = ("laws", "trace: up, %", "theory: up, %", "ours: up, %", "deviation from the trace",
        "failures in 180 days of a node, theory", "ours", "work lost, %")  # fmt: skip
BLAST = ("search", "tasks", "best law", "recorded makespan, s", "list scheduling, s", "ours, s",
         "deviation from the recorded one")  # fmt: skip
RECORDED_S = {"large": 3908.44, "medium": 5074.08, "small": 1279.30}  # whole workflows
CORES = {"large": 72, "medium": 72, "small": 24}  # of the machines that ran their searches

Spots = tuple[dict[str, Law], dict[str, list[Figures]]]  # laws of their lives, and runs with them


class Lives(NamedTuple):
    """Of preemptible machines: what was seen, and laws of it."""

    seen: Samples
    stepwise: Law
    fitted: Fit
    careless: Fit  # a machine that its user stopped taken for one that was preempted


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where the picture goes."""
    place = data.folder()
    assert place is not None
    nodes, lives = data.lanl(place), of_spot(data.spot(place))
    laws, spot = _spot(runs, lives, place)
    ups = data.hours(nodes, up=True)
    fits, lanl, blast = _fits(place, nodes), _lanl(runs, nodes), _blast(runs, place)
    draw(folder / "real-traces.svg", ups, lives, data.blast(place))
    return PAGE.format(
        seeds=runs.seeds,
        claims=claims(*judged(fits, lanl, (laws, spot), blast)),
        fits=table(FITS, [one.cells() for one in fits]),
        lanl=table(LANL, [one.cells() for one in lanl]),
        spot=_spot_table(laws, spot),
        braked=f"{_braked(spot[LEASED])} of {runs.seeds}",
        blast=table(BLAST, [one.cells() for one in blast]),
    )


# Los Alamos


class Parameter(NamedTuple):
    """Of a fitted law."""

    interval: str
    family: str
    name: str
    theirs: float
    ours: float

    def cells(self) -> tuple[str, ...]:
        return (self.interval, self.family, self.name, f"{self.theirs:.2f}", f"{self.ours:.2f}",
                deviation(self.ours, self.theirs, 3))  # fmt: skip


class Nodes(NamedTuple):
    """A hundred of them for 180 days, with laws of their times up and down."""

    name: str
    up: Law
    down: Law
    trace: float  # of the time up, %
    found: list[Figures]

    @property
    def theory(self) -> float:
        return 100 * self.up.mean() / (self.up.mean() + self.down.mean())

    @property
    def available(self) -> Running:
        return over(self.found, lambda figures: 100 * figures["availability"])

    @property
    def failures(self) -> Running:
        """Of a node."""
        return over(self.found, lambda figures: figures["failures"] / 100)

    def cells(self) -> tuple[str, ...]:
        ours = self.available
        return (self.name, f"{self.trace:.2f}", f"{self.theory:.2f}", mean(ours, 2),
                deviation(ours.mean, self.trace, 2), f"{renewal.failures(self.up, HOURS):.2f}",
                mean(self.failures, 2), mean(over(self.found, work_lost), 2))  # fmt: skip


def _fits(place: Path, nodes: dict[str, list[Interval]]) -> list[Parameter]:
    rows = []
    for up in (True, False):
        hours = data.hours(nodes, up=up)
        for family, given in data.published(place, up=up).items():
            found = fit(family, hours).law
            for name, theirs in zip(found.__struct_fields__, given, strict=True):
                ours = float(getattr(found, name))
                rows.append(Parameter(data.KINDS[up], family, name, theirs, ours))
    return rows


def _lanl(runs: Runs, nodes: dict[str, list[Interval]]) -> list[Nodes]:
    ups, downs = data.hours(nodes, up=True), data.hours(nodes, up=False)
    laws = {
        "Weibull up, lognormal down": (best_fit(ups).law, best_fit(downs).law),
        EXPONENTIAL: (fit("exponential", ups).law, fit("exponential", downs).law),
    }
    found = runs.of("lanl.toml", {name: _lives(*both) for name, both in laws.items()})
    trace = 100 * ups.mean() / (ups.mean() + downs.mean())
    return [Nodes(name, *laws[name], trace, found[name]) for name in laws]


def _lives(up: Law, down: Law) -> list[str]:
    return [f"pools.nodes.up={written(up, 'h')}", f"pools.nodes.down={written(down, 'h')}"]


# preemptible machines


def of_spot(seen: Samples) -> Lives:
    some = seen.values > 0
    values, censored = seen.values[some], seen.censored[some]
    return Lives(seen, lifetime_law(seen), best_fit(values, censored), best_fit(values))


def _spot(runs: Runs, lives: Lives, place: Path) -> Spots:
    laws = {
        "as seen (Kaplan and Meier)": lives.stepwise,
        f"{lives.fitted.family}, fitted with censoring": lives.fitted.law,
        f"{lives.careless.family}, stops taken for preemptions": lives.careless.law,
        LEASED: lives.stepwise,
    }
    cases = {name: _spot_changes(name, law) for name, law in laws.items()}
    return laws, runs.of("spot.toml", cases, place)


def _ended(law: Law, found: list[Figures]) -> Running:
    """How many machines, in percent of what renewal theory says until the makespan."""
    minutes = Changed(law, 1 / 60)

    def share(figures: Figures) -> float:
        each = renewal.failures(minutes, round(figures["makespan_s"] / 60))
        return 100 * figures["failures"] / (SPOTS * each)

    return over(found, share)


def _spot_table(laws: dict[str, Law], found: dict[str, list[Figures]]) -> str:
    rows = [_spot_row(name, law, found[name]) for name, law in laws.items()]
    head = ("lives of machines", "mean life, h", "tasks lost", "work lost, %", "makespan, h",
            "USD", "runs braked")  # fmt: skip
    return table(head, rows)


def _spot_changes(name: str, law: Law) -> list[str]:
    if name == LEASED:
        return ["pools.spot.machines=0", "pools.spot.max=50", "pools.spot.price=0.012 USD/h",
                "pools.spot.unit=1m", "pools.spot.startup=2m"]  # fmt: skip
    return [] if isinstance(law, Empirical) else [f"pools.spot.up={written(law, 's')}"]


def _spot_row(name: str, law: Law, found: list[Figures]) -> tuple[str, ...]:
    """Of runs that were braked there is nothing to tell but that they were."""
    ended = finished(found)
    lost = over(ended, lambda figures: figures["jobs_lost"])
    makespan = over(ended, lambda figures: figures["makespan_s"] / 3600)
    cost = over(ended, lambda figures: figures.get("cost_USD", 0.0))
    paid = mean(cost, 2) if cost.mean else ""
    return (name, f"{law.mean() / 3600:.1f}", mean(lost), mean(over(ended, work_lost), 2),
            mean(makespan, 2), paid, f"{_braked(found)}")  # fmt: skip


def _braked(found: list[Figures]) -> int:
    return len(found) - len(finished(found))


# BLAST


class Search(NamedTuple):
    size: str
    tasks: int
    law: Fit
    recorded_s: float
    listed_s: float  # by a reckoning of a few lines that knows nothing of tailrace
    ours_s: float

    def cells(self) -> tuple[str, ...]:
        law = f"{self.law.family}, mean {self.law.law.mean():.1f} s"
        return (self.size, f"{self.tasks}", law, f"{self.recorded_s:.0f}",
                f"{self.listed_s:.1f}", f"{self.ours_s:.1f}",
                deviation(self.ours_s, self.recorded_s, 0))  # fmt: skip


def _blast(runs: Runs, place: Path) -> list[Search]:
    rows = []
    for size, recorded in RECORDED_S.items():
        file = data.BLAST.format(size=size)
        changes = [f'bags.blast.lengths.file="{file}"']
        changes += [f"pools.chameleon.machines={CORES[size] // 24}"]
        (found,) = runs.of("blast.toml", {size: changes}, place).values()
        times, tasks = data.blast(place, size), int(found[0]["tasks_done"])
        listed_s = list_scheduled(times, CORES[size])
        rows.append(
            Search(size, tasks, best_fit(times), recorded, listed_s, found[0]["makespan_s"])
        )
    return rows


def list_scheduled(times_s: Iterable[float], cores: int) -> float:
    """Each task, in its order, on the core that is free first: until the last one ends."""
    free_at = [0.0] * cores
    for time_s in times_s:
        heapq.heapreplace(free_at, free_at[0] + time_s)
    return max(free_at)


# the verdict


def judged(
    fits: list[Parameter], lanl: list[Nodes], spot: Spots, blast: list[Search]
) -> list[Claim]:
    laws, found = spot
    parameters = [Apart(abs(one.ours - one.theirs), 0.005) for one in fits]
    kept = [apart(one.available, one.trace, 0.05) for one in lanl if one.name == EXPONENTIAL]
    expected = [renewal.failures(one.up, HOURS) for one in lanl]
    failures = [
        apart(one.failures, theory, 0.05 * theory)
        for one, theory in zip(lanl, expected, strict=True)
    ]
    return [
        all_near("our fits are the published ones", "half of their last digit", parameters, ""),
        all_near("exponential laws have the trace's availability",
                 _bound("0.05 points"), kept, "points"),
        all_near("nodes fail as often as renewal theory says", _bound("5 %"), failures, "failures"),
        all_near("preemptible machines end as often as it says", _bound("5 %"),
                 [apart(_ended(laws[name], found[name]), 100, 5.0) for name in laws], "%"),
        all_near("searches take what list scheduling of their tasks takes", "1 ms",
                 [Apart(abs(one.ours_s - one.listed_s), 0.001) for one in blast], "s"),
    ]  # fmt: skip


def _bound(least: str) -> str:
    return f"{least}, or twice the half width of the interval"


def written(law: Law, unit: str) -> str:
    """As it stands in a scenario."""
    match law:
        case Weibull(shape, scale):
            return f'{{ law = "weibull", shape = {shape}, scale = "{scale}{unit}" }}'
        case Gamma(shape, scale):
            return f'{{ law = "gamma", shape = {shape}, scale = "{scale}{unit}" }}'
        case Lognormal(mu, sigma):
            return f'{{ law = "lognormal", median = "{math.exp(mu)}{unit}", sigma = {sigma} }}'
        case Exponential(scale):
            return f'{{ law = "exponential", mean = "{scale}{unit}" }}'
    raise ValueError(f"{law} is not one that is fitted")


PAGE = """\
# Real traces

Failures of Los Alamos (LANL05 of the Failure Trace Archive), lives of Google's preemptible
machines (Kadupitiya and others, 2019), run times of BLAST (WfInstances): loaded, fitted, and used
in scenarios that run, with {seeds} seeds. `make studies`, or `python -m studies real_traces`,
writes this page when TAILRACE_DATA names the folder of the data; they are not part of tailrace.

{claims}

![Three laws beside their data](real-traces.svg)

## Los Alamos

The archive publishes its maximum-likelihood fits; ours are made from the same intervals, those of
no length left out.

{fits}

The best of the four laws by Akaike's criterion are Weibull for times up and lognormal for times
down. With them, and with exponential laws of the same mean, `studies/scenarios/lanl.toml` runs
tasks of a day on a hundred nodes for 180 days.

{lanl}

The exponential laws have the trace's means, so they have its availability. The better fitting ones
have not: a lognormal with the likeliest parameters has half the mean time down of the trace, whose
longest repairs it does not know. All nodes begin new, and a new node of a Weibull law with a shape
below 1 fails often: the renewal function knows that, and the scenario has more failures, more lost
work and less availability than in the long run.

## Preemptible machines

1,442 lives, of which 725 were ended by the user: they say only that the machine would have lived
longer. `studies/scenarios/spot.toml` runs 5,000 tasks with the run times of BLAST (26 min on
average) on 50 such machines, each followed by another two minutes after it went; in the last row
they are leased.

{spot}

No law of the four has the provider's limit of 24 h, at which nearly half of the lives that end by
preemption end; the law of the values as seen has it. Taking stops for preemptions halves the mean
life, and multiplies what is predicted to be lost. As tasks are short beside the lives, the
makespan hardly shows it.

A bag is braked when five leased machines of a pool in a row died young, before any task ended on
them, unless more than that of the pool's machines stand: a pool whose machines die so is usually
broken. This one is not: many of its lives are short, 50 of them begin together, and the first
result comes after 15 minutes. Of the runs that lease, {braked} were braked.

## BLAST

The recorded tasks, in their order, on as many cores as ran them (`studies/scenarios/blast.toml`).
Beside ours stands a reckoning of five lines: each task in turn on the core that is free first.

{blast}

The recorded makespan is of the whole workflow, with the task that splits its input, the two that
join its results, and all waiting between. For the large search, tasks of 26 min, we miss the time
that the first tasks waited. For the others the tasks are short, and what the workflow engine does
between them takes nearly all the time: 17 s for each task of the medium search, and 30 s of the
small one. Nothing in the data says what that was, so it is left out.
"""
