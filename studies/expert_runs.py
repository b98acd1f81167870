"""ExPERT 6.3: thirteen runs on real grids, and what is made of them by our model.

offline   the model, by what the tables of the paper tell
online    the same by what could be known at the beginning of the tail, in virtual runs
main      the page
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from studies.expert_table5 import (
    COMBINED,
    RELIABLE,
    TABLE,
    Experiment,
    reliable_s,
    setting,
    strategy,
    turnarounds,
    unreliable_s,
)
from studies.observed import Observer
from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims, known
from tailrace.bag.tables import read_toml
from tailrace.knowledge.characterisation import Online, characterise
from tailrace.planning.estimate import sample
from tailrace.planning.setting import Setting
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

REPETITIONS = 1000
FEW = 100  # of each of many
SECOND = 1_000_000
NEAR = (7, 9, 11, 12, 13)  # what a rough model of others gets within 10 %
STEPS = 20  # of a bisection
METHODS = ("paper", "measured")

SCENARIO = """
[pools.grid]
machines = {hosts}
reliable = false
returns = {share}
detection = "deadline"
late_results = "ignore"
luck = {{ law = "empirical", values = {times} }}

[pools.own]
machines = {reliable}
slope = {reliable_s}

[bags.b]
tasks = {tasks}
length = 1
timeout = {timeout}
retries = {{ expired = 1000000, lost = 1000000 }}
{replication}
"""
NTDMR = """
replication = {{ strategy = "ntdmr", n = {n}, t_s = {t}, d_s = {d}, mr = {mr}, \
patience_s = {patience}, cancel = false }}
"""


class Found(NamedTuple):
    tail: float
    cents: float  # a task
    sent: float  # to reliable machines


class Row(NamedTuple):
    one: Experiment
    offline: Found
    shorter: Found | None  # D is the time-out before the tail as well
    needed: tuple[float, Found] | None  # the share by which as many would have been sent
    scheduler: Found
    online: dict[str, Found]
    apart: dict[str, float]  # of the online tail from the offline one, in %, on average

    def off(self, found: Found) -> tuple[float, float]:
        return _percent(found.tail, self.one.tail), _percent(found.cents, self.one.cents)


def _percent(ours: float, theirs: float) -> float:
    return 100 * (ours / theirs - 1)


# the model


def estimated(one: Experiment, what: Setting, repetitions: int = REPETITIONS) -> Found:
    samples = sample(what, [strategy(one)], repetitions)
    names = ("tail_makespan", "cost_per_task", "reliable_sent")
    return Found(*(float(samples.means(name)[0]) for name in names))


def share_needed(one: Experiment) -> tuple[float, Found]:
    """The worse the share, the more are sent to reliable machines."""
    low, high = 0.05, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        sent = estimated(one, setting(one._replace(share=middle)), FEW).sent
        low, high = (middle, high) if sent > one.sent else (low, middle)
    return middle, estimated(one, setting(one._replace(share=middle)))


# the scheduler


def scenario(one: Experiment) -> Scenario:
    what, plan = setting(one), strategy(one)
    combined = one.number == COMBINED
    ntdmr = NTDMR.format(
        n=-1 if one.n is None else one.n, t=plan.t_s, d=plan.d_s, mr=RELIABLE / one.hosts,
        patience=what.patience_s,
    )  # fmt: skip
    text = SCENARIO.format(
        hosts=one.hosts, share=one.share, times=turnarounds(one).round(3).tolist(),
        reliable=RELIABLE, reliable_s=reliable_s(one), tasks=one.load.tasks,
        timeout=one.load.d if combined else what.patience_s,
        replication="" if combined else ntdmr,
    )  # fmt: skip
    return read_scenario(read_toml(text, "experiment"), "experiment", text, Path())


class Lived(NamedTuple):
    """One virtual run: what came of it, and what was foretold when its tail began."""

    found: Found
    online: dict[str, Found]


class Job(NamedTuple):
    one: Experiment
    seed: int


def lived(job: Job) -> Lived:
    one, watch = job.one, Observer()
    world = World(scenario(one), job.seed, watch=watch)
    world.run()
    seen = watch.sendings()
    done = np.sort(np.array(world.records[0].done)) / SECOND
    cheap, dear = seen.of("grid"), seen.of("own")
    both = one.hosts + (RELIABLE if one.number == COMBINED else 0)
    tail_s = float(done[len(done) - both])  # fewer are left than there are machines
    paid = (cheap.returned * unreliable_s(one) + dear.count * 34 * reliable_s(one)) / 3600
    found = Found(float(done[-1]) - tail_s, paid / one.load.tasks, dear.count)
    if one.number == COMBINED:
        return Lived(found, {})
    foretold = {}
    for method in METHODS:
        at = Online(tail_s, setting(one).patience_s)
        how = characterise(cheap, at, method=method)
        since, shares = how.reliability.steps()
        what = setting(one)
        hosts = replace(what.cheap, turnarounds=how.turnaround.points())
        told = replace(what, cheap=hosts, returned_from=since, returned=shares.clip(0.01, 1))
        foretold[method] = estimated(one, told, FEW)
    return Lived(found, foretold)


def _mean(some: list[Found]) -> Found:
    return Found(*np.array(some).mean(0).tolist())


# the page


def row(one: Experiment, runs: list[Lived]) -> Row:
    scheduler = _mean([run.found for run in runs])
    if one.number == COMBINED:
        return Row(one, scheduler, None, None, scheduler, {}, {})
    offline = estimated(one, setting(one))
    online = {method: [run.online[method] for run in runs] for method in METHODS}
    return Row(
        one, offline, estimated(one, setting(one, one.load.d)),
        share_needed(one) if one.sent else None, scheduler,
        {method: _mean(some) for method, some in online.items()},
        {method: float(np.mean([abs(_percent(each.tail, offline.tail)) for each in some]))
         for method, some in online.items()},
    )  # fmt: skip


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    found = rows(runs)
    return PAGE.format(
        seeds=runs.seeds, repetitions=f"{REPETITIONS:,}", few=FEW,
        claims=claims(*judged(found)),
        offline=table(OFFLINE, [*map(_offline, found), _offline_means(found)]),
        needed=table(NEEDED, [_needed(one, *one.needed) for one in found if one.needed]),
        online=table(ONLINE, [*map(_online, (one for one in found if one.online)),
                              _online_means(found)]),
    )  # fmt: skip


def rows(runs: Runs, some: tuple[Experiment, ...] = TABLE) -> list[Row]:
    jobs = [Job(one, seed) for one in some for seed in range(runs.seeds)]
    told = runs.each(lived, jobs)
    return [
        row(one, told[number * runs.seeds : (number + 1) * runs.seeds])
        for number, one in enumerate(some)
    ]


OFFLINE = ("No.", "tail, s: real", "paper", "ours", "reliable attempts: real", "ours",
           "cent a task: real", "paper †", "ours †", "tail by the scheduler",
           "tail if D held before it")  # fmt: skip
NEEDED = ("No.", "γ: real mean", "γ that sends as many", "tail, s: real", "then ours", "")
ONLINE = ("No.", "paper: tail", "cent", "ours by its equation: tail", "cent",
          "ours, by what is likeliest: tail", "cent", "apart from ours offline: equation",
          "likeliest")  # fmt: skip


def _offline(found: Row) -> tuple[str, ...]:
    one, (tail, cost) = found.one, found.off(found.offline)
    return (
        f"{one.number}", f"{one.tail:,.0f}", _signed(one.offline.tail), _signed(tail),
        f"{one.sent}", f"{found.offline.sent:.0f}",
        f"{one.cents:.2f}", _signed(one.offline.cost), _signed(cost),
        _signed(_percent(found.scheduler.tail, one.tail)),
        "" if found.shorter is None else _signed(_percent(found.shorter.tail, one.tail)),
    )  # fmt: skip


def _offline_means(found: list[Row]) -> tuple[str, ...]:
    shorter = [_percent(one.shorter.tail, one.one.tail) for one in found if one.shorter]
    return (
        "average size", "", *_sizes(one.one.offline.tail for one in found),
        *_sizes(one.off(one.offline)[0] for one in found), "", "", "",
        *_sizes(one.one.offline.cost for one in found),
        *_sizes(one.off(one.offline)[1] for one in found),
        *_sizes(_percent(one.scheduler.tail, one.one.tail) for one in found), *_sizes(shorter),
    )  # fmt: skip


def _needed(found: Row, share: float, then: Found) -> tuple[str, ...]:
    one = found.one
    return (
        f"{one.number}", f"{one.share:.3f}", f"{share:.3f}", f"{one.tail:,.0f}",
        f"{then.tail:,.0f}", _signed(_percent(then.tail, one.tail)),
    )  # fmt: skip


def _online(found: Row) -> tuple[str, ...]:
    one = found.one
    ours = [_signed(off) for method in METHODS for off in found.off(found.online[method])]
    apart = [f"{found.apart[method]:.0f} %" for method in METHODS]
    return (f"{one.number}", _signed(one.online.tail), _signed(one.online.cost), *ours, *apart)


def _online_means(found: list[Row]) -> tuple[str, ...]:
    some = [one for one in found if one.online]
    ours = [
        cell
        for method in METHODS
        for which in range(2)
        for cell in _sizes(one.off(one.online[method])[which] for one in some)
    ]
    apart = [f"{np.mean([one.apart[method] for one in some]):.0f} %" for method in METHODS]
    paper = [*_sizes(one.one.online.tail for one in some),
             *_sizes(one.one.online.cost for one in some)]  # fmt: skip
    return ("average size", *paper, *ours, *apart)


def _sizes(values: Iterable[float]) -> tuple[str]:
    return (f"{_size(values):.0f} %",)


def _size(values: Iterable[float]) -> float:
    return float(np.mean([abs(value) for value in values]))


def _signed(value: float) -> str:
    return f"{value:+.0f} %"


def judged(found: list[Row]) -> list[Claim]:
    near = {one.one.number: abs(one.off(one.offline)[0]) for one in found}
    worst = max(near[number] for number in NEAR if number in near)
    offline = _size(one.off(one.offline)[0] for one in found)
    sent = _size(
        _percent(one.needed[1].tail, one.one.tail) for one in found if one.needed is not None
    )
    online = {
        method: _size(one.off(one.online[method])[0] for one in found if one.online)
        for method in METHODS
    }
    apart = {
        method: float(np.mean([one.apart[method] for one in found if one.online]))
        for method in METHODS
    }
    return [
        Claim(f"the tails of {', '.join(map(str, NEAR[:-1]))} and {NEAR[-1]} are met", "10 %",
              f"at worst {worst:.1f} %", worst <= 10),
        known(Claim("so are all thirteen, on average", "10 %, as in the paper",
                    f"{offline:.0f} %", offline <= 10)),
        Claim("they are, where as many tasks went to reliable machines", "10 % on average",
              f"{sent:.1f} %", sent <= 10),
        Claim("by what can be known when the tail begins the paper's way is worse",
              "as in the paper: 20 beside 10 %", f"{online['paper']:.0f} beside {offline:.0f} %",
              online["paper"] > offline),
        Claim("what is likeliest foretells tails better than equation 2 of the paper",
              "nearer to the offline ones",
              f"{apart['measured']:.0f} beside {apart['paper']:.0f} % apart",
              apart["measured"] < apart["paper"]),
    ]  # fmt: skip


PAGE = """\
# ExPERT's model beside thirteen real runs

Section 6.3 of ExPERT's paper: bags of 615 to 3,276 tasks of genetic linkage, really run on about
200 unreliable machines of two grids and 20 reliable ones, and how far its simulator was off. Here
our model is beside the same runs. `make studies`, or `python -m studies expert_runs`, writes this
page.

{claims}

## Offline

What enters is what Tables 3 and 5 print of a run: tasks, N, T, D, machines, γ, and of the run times
their mean, least and most. Deviations are from the real run, *paper* that of its own simulator.
{repetitions} repetitions each. The scheduler itself has run each in the virtual world, too,
{seeds} times.

{offline}

† is no independent figure. The paper does not print T_r; we take what the cost leaves to each
reliable attempt, so that ours tells again how many of these there were. Where there was none, T_ur
is taken from the cost. The tails and the numbers of reliable attempts enter nowhere: they are
foretold.

How the tables are read: the costs of 2 and 3 are printed as 39 and 41, and must be 0.39 and 0.41,
as only then their printed average is 1.78. Workloads 5 to 7 print averages below their minima: the
two columns are exchanged. Experiment 3 is one unreliable pool of 220 machines. 5 is no strategy of
NTDMr, but CN∞, both pools at work from the beginning: it has run in the virtual world alone. On the
other grid, OSG, a task takes as much longer as in experiment 11 (2,066 s beside 1,597 s), and in 9
half as much, which has half of its machines there. Before the tail the time-out is four mean run
times, as the paper has it (5.3); the last column is with D instead.

The law of turnarounds is a picture in the paper, and of one run alone. Ours is, of all laws with
the mean, least and most of Table 3, the one that says least beyond them: exponential, cut off at
both.

## What is missed, and why

The paper's offline model knows γ(t') of the run, time by time; its tables tell one average. Where
that is near 1 it says little of the last attempts before the tail, on which the tail depends: in
experiment 1 there were 50 reliable attempts, where 0.5 % of failures and those that take longer
than T make 28. So here is γ by which as many would have been sent to reliable machines, and the
tail that comes with it:

{needed}

The same holds for 8, the other way round: fewer failed at its end than on average. In 6 about
twelve tasks are sent again, 4,000 s after they were first; that one of them fails once more is as
likely as not, and adds 4,000 s: the mean lies between the two, and the real run was one without. In
5 the reliable machines work all the time here, 60 attempts in three rounds of 20; in the real run
they were asked only when no other was free, and did 41.

## Online

When the tail begins, γ of what was sent last is not known yet. The paper estimates it (4.3), and is
off by twice as much as offline. We have no record of its runs; in their place the scheduler runs
each experiment in the virtual world, {seeds} times, with the γ of its table all the time. What was
seen of that until the tail is characterised in the paper's way (equation 2) and in ours, with F_s
of the results that were there, and the model is asked again ({few} repetitions for each run).
Deviations of the mean from the real run; the last columns are how far a single forecast is, on
average, from the one offline.

{online}

The paper's own figures hold what its grids did, γ that rose or fell. Ours hold only what is not
known yet, as γ stays: so they compare two ways to say what share of those that are out will return.
Equation 2 divides what has returned by what should have by then; of the last attempts, of which
hardly any can be back, that is nearly nothing by nearly nothing. From below it is held by the least
γ of what was sent so long ago that its time-out has passed, and in 1, 2, 3, 6, 9 and 10 the tail
begins before anything was. And its F_s is made of results alone, among which those that take long
are missing yet. Ours looks for what is most likely of all that was seen, those still out among it,
and is what `tailrace run --prefer` plans by.
"""
