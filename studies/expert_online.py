"""ExPERT 4.3: what is known when the tail begins beside what is known in the end, where the
reliability changes while the bag runs.

CHANGES      how γ(t') goes
foretold     a run in the virtual world, and what is made of it online and offline
main         the page
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from studies.expert_table5 import C_R, C_UR, RELIABLE, TABLE, reliable_s, strategy, turnarounds
from studies.expert_table5 import setting as of_table
from studies.lived import Lived, began_s, came_to, ran
from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims, known
from tailrace.bag.tables import read_toml
from tailrace.knowledge.characterisation import Online, characterise
from tailrace.knowledge.sendings import Floats, Sendings
from tailrace.planning.estimate import sample
from tailrace.planning.setting import Hosts, Setting
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario

REPETITIONS, FEW = 1000, 100  # of the model with what is true, and for each run
METHODS = {"paper": "equation 2", "measured": "likeliest"}
(ONE,) = (one for one in TABLE if one.number == 11)
HIGH, MIDDLE, LOW = 0.95, 0.8, 0.65
RISE_S = 8_000.0  # about as long as there is enough to do where γ is high
STEP_S = 5_000.0


class Change(NamedTuple):
    since_s: tuple[float, ...]
    share: tuple[float, ...]


def _slope(first: float, last: float, steps: int = 15) -> Change:
    since_s = np.linspace(0, RISE_S, steps).round()
    return Change(tuple(since_s.tolist()), tuple(np.linspace(first, last, steps).tolist()))


CHANGES = {
    "stays": Change((0.0,), (MIDDLE,)),
    "rises": _slope(LOW, HIGH),
    "falls": _slope(HIGH, LOW),
    "steps up": Change((0.0, STEP_S), (LOW, HIGH)),
    "steps down": Change((0.0, STEP_S), (HIGH, LOW)),
}

SCENARIO = """
[pools.grid]
machines = {hosts}
reliable = false
returns = {{ from = {since_s}, share = {share} }}
detection = "deadline"
late_results = "ignore"
luck = {{ law = "empirical", values = {times} }}

[pools.own]
machines = {reliable}
slope = {reliable_s}

[bags.b]
tasks = {tasks}
length = 1
retries = {{ expired = 1000000 }}
replication = {{ strategy = "ntdmr", n = {n}, t_s = {t}, d_s = {d}, mr = {mr}, \
patience_s = {patience}, cancel = false }}
"""


def scenario(change: Change) -> Scenario:
    what, plan = of_table(ONE), strategy(ONE)
    text = SCENARIO.format(
        hosts=ONE.hosts, since_s=list(change.since_s), share=list(change.share),
        times=turnarounds(ONE).round(3).tolist(), reliable=RELIABLE, reliable_s=reliable_s(ONE),
        tasks=ONE.load.tasks, n=ONE.n, t=plan.t_s, d=plan.d_s, mr=plan.mr,
        patience=what.patience_s,
    )  # fmt: skip
    return read_scenario(read_toml(text, "change"), "change", text, Path())


def true(change: Change) -> Setting:
    return believed(turnarounds(ONE), np.array(change.since_s), np.array(change.share))


def believed(times: Floats, since_s: Floats, share: Floats) -> Setting:
    return replace(
        of_table(ONE), retry_first=True,
        cheap=Hosts(ONE.hosts, times, per_result_s=C_UR),
        dear=Hosts(RELIABLE, np.array([reliable_s(ONE)]), per_result_s=C_R),
        returned_from=since_s, returned=share.clip(0.01, 1),
    )  # fmt: skip


def estimated(what: Setting, repetitions: int = FEW) -> Lived:
    samples = sample(what, [strategy(ONE)], repetitions)
    names = ("makespan", "tail_makespan", "cost_per_task", "reliable_sent")
    return Lived(*(float(samples.means(name)[0]) for name in names))


class Told(NamedTuple):
    """One run: what came of it, and what is made of it by each method, online and offline."""

    lived: Lived
    online: dict[str, Lived]
    offline: dict[str, Lived]
    next: dict[str, float]  # the share that is believed, online, of what will be sent


class Job(NamedTuple):
    change: Change
    seed: int


def foretold(job: Job) -> Told:
    world, seen = ran(scenario(job.change), job.seed)
    tail_s = began_s(world)
    cheap, at = seen.of("grid"), Online(tail_s, of_table(ONE).patience_s)
    online = {method: _of(cheap, at, method) for method in METHODS}
    return Told(
        came_to(world, seen, tail_s),
        {method: estimated(what) for method, what in online.items()},
        {method: estimated(_of(cheap, None, method)) for method in METHODS},
        {method: float(what.returned[-1]) for method, what in online.items()},
    )  # fmt: skip


def _of(cheap: Sendings, at: Online | None, method: str) -> Setting:
    how = characterise(cheap, at, method=method)
    return believed(how.turnaround.points(), *how.reliability.steps())


class Row(NamedTuple):
    """Of one change. How far forecasts are from the mean of the runs, in percent."""

    name: str
    true: Lived
    runs: list[Told]

    @property
    def mean(self) -> Lived:
        return Lived(*np.mean([one.lived for one in self.runs], axis=0).tolist())

    def off(self, one: Lived) -> tuple[float, float]:
        mean = self.mean
        return 100 * (one.tail_s / mean.tail_s - 1), 100 * (one.cents / mean.cents - 1)

    def each(self, method: str, *, online: bool) -> Floats:
        """Of tail and cost, by run."""
        told = [one.online if online else one.offline for one in self.runs]
        return np.array([self.off(some[method]) for some in told])

    def size(self, method: str, *, online: bool) -> Floats:
        found: Floats = np.abs(self.each(method, online=online)).mean(0)
        return found

    def next(self, method: str) -> float:
        return float(np.mean([one.next[method] for one in self.runs]))


def rows(runs: Runs, names: tuple[str, ...] = tuple(CHANGES)) -> list[Row]:
    jobs = [Job(CHANGES[name], seed) for name in names for seed in range(runs.seeds)]
    told = runs.each(foretold, jobs)
    return [
        Row(name, estimated(true(CHANGES[name]), REPETITIONS),
            told[at * runs.seeds : (at + 1) * runs.seeds])
        for at, name in enumerate(names)
    ]  # fmt: skip


# the page


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    found = rows(runs)
    return PAGE.format(
        seeds=runs.seeds, few=FEW, repetitions=f"{REPETITIONS:,}", claims=claims(*judged(found)),
        shares=table(SHARES, [_shares(one) for one in found]),
        tails=table(OFF, [_row(one, 0) for one in found]),
        costs=table(OFF, [_row(one, 1) for one in found]),
        low=f"{LOW:.0%}", high=f"{HIGH:.0%}", middle=f"{MIDDLE:.0%}", step=f"{STEP_S:,.0f}",
        rise=f"{RISE_S:,.0f}",
    )  # fmt: skip


KINDS = [(online, method) for online in (True, False) for method in METHODS]
SHARES = ("γ", "tail of the runs, s", "cent a task", "share in the tail",
          *(f"believed online: {word}" for word in METHODS.values()))  # fmt: skip
OFF = ("γ", "γ(t') and F_s as they are",
       *(f"{'online' if online else 'offline'}, {METHODS[method]}{word}" for online, method in KINDS
         for word in ("", ": one run")))  # fmt: skip


def _shares(one: Row) -> tuple[str, ...]:
    last = CHANGES[one.name].share[-1]
    return (one.name, f"{one.mean.tail_s:,.0f}", f"{one.mean.cents:.2f}", f"{last:.0%}",
            *(f"{one.next(method):.0%}" for method in METHODS))  # fmt: skip


def _row(one: Row, which: int) -> tuple[str, ...]:
    cells = []
    for online, method in KINDS:
        off = one.each(method, online=online)[:, which]
        cells += [f"{off.mean():+.0f} %", f"{np.abs(off).mean():.0f} %"]
    return (one.name, f"{one.off(one.true)[which]:+.0f} %", *cells)


def judged(found: list[Row]) -> list[Claim]:
    by_name = {one.name: one for one in found}
    exact = max(abs(off) for one in found for off in one.off(one.true))
    online, offline = ({method: _mean(found, method, online=kind) for method in METHODS}
                       for kind in (True, False))  # fmt: skip
    worse = [one.size("measured", online=True)[0] for one in found if one.name != "stays"]
    stays = by_name["stays"].size("measured", online=True)[0]
    wrong = {name: by_name[name].each("measured", online=True)[:, 0].mean()
             for name in ("steps down", "steps up")}  # fmt: skip
    return [
        Claim("by γ(t') as it is the model foretells tail and cost", "10 %, each",
              f"at worst {exact:.0f} %", exact <= 10),
        *(Claim(f"offline is nearer than online, by {word}", "the tail, on average",
                f"{offline[method][0]:.0f} beside {online[method][0]:.0f} %",
                offline[method][0] < online[method][0]) for method, word in METHODS.items()),
        known(Claim("as in the paper, twice as near", "half of it, by its equation, within a third",
                    f"{offline['paper'][0] / online['paper'][0]:.2f} for the tail, "
                    f"{offline['paper'][1] / online['paper'][1]:.2f} for the cost",
                    all(1 / 3 <= offline["paper"][which] / online["paper"][which] <= 2 / 3
                        for which in range(2)))),
        Claim("online what is likeliest is nearer than equation 2", "the tail, on average",
              f"{online['measured'][0]:.0f} beside {online['paper'][0]:.0f} %",
              online["measured"][0] < online["paper"][0]),
        Claim("where γ stays it is nearer than where it changes", "the tail, on average",
              f"{stays:.0f} beside {np.mean(worse):.0f} %", stays < float(np.mean(worse))),
        Claim("what falls is foretold too well, what rises too badly", "the tail, after a step",
              f"{wrong['steps down']:+.0f} and {wrong['steps up']:+.0f} %",
              wrong["steps down"] < 0 < wrong["steps up"]),
    ]  # fmt: skip


def _mean(found: list[Row], method: str, *, online: bool) -> Floats:
    some: Floats = np.mean([one.size(method, online=online) for one in found], axis=0)
    return some


PAGE = """\
# Online and offline, where the reliability changes

When the tail begins, γ(t') is known of what was sent so long ago that its time-out has passed; of
what was sent since, a part; of what will be sent, nothing (ExPERT 4.3). Afterwards all is known.
Here γ rises, falls or steps while the bag runs, and what is foretold online and offline is beside
what came of it. `make studies`, or `python -m studies expert_online`, writes this page.

{claims}

The bag is that of the paper's experiment 11, 820 tasks on 200 unreliable machines and 20 reliable
ones, with the [readings of its table](expert-runs.md). γ stays at {middle}, or goes from {low} to
{high} or back, step by step in {rise} s or at once after {step} s. The scheduler runs the bag
{seeds} times for each in the virtual world (with `returns` of a scenario that changes).
From each run its attempts are characterised by equation 2 of the paper, with F_s of the results
that are there, and as `tailrace run --prefer` does, by what is likeliest; online by what had been
seen when the tail began, offline by all. The model is asked with that, {few} repetitions for each
run and {repetitions} with γ(t') as it was.

{shares}

## The tail

How far what is foretold is from the mean of the runs, on average, and how far one forecast is.

{tails}

## The cost

{costs}

## What is missed, and why

The paper is off online by twice as much as offline, and here it is many times as much. Its offline
figures hold all that a real grid does [beside](expert-causes.md) what the model knows; here nothing
is left offline but chance and the error of the sets, at least 20 attempts each, in which γ(t') is
told.

N = 0 sends what is late to a reliable machine, so that the tail depends on γ of those that are out
when it begins. Nearly all of them are in the epoch of which a part is known, and after a change
what was sent before it says the wrong thing. Equation 2 divides what has returned by what should
have by then; of the last attempts that is nearly nothing by nearly nothing, and from below it is
held by the least γ of the first epoch, which after a fall is far too high. What is likeliest begins
from what was seen of all and moves with what is known, so it follows a fall more closely; a rise
neither can tell from a chance. Of what will be sent the paper takes the mean of both epochs, and so
do we: the table above has what is believed beside what holds.
"""
