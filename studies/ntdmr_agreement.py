"""NTDMr three times: by the kernel of the planner, by the scheduler in the virtual world, and step
by step of time as the paper tells it. Are makespan, cost and the rest the same?

    settings      random bags, pools and strategies
    by_kernel, by_scheduler, by_steps   what each makes of one
    main          the page
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.planning import slow

from studies.lived import yet_to_return
from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims
from tailrace.bag.outcome import Outcome
from tailrace.bag.tables import read_toml
from tailrace.planning.kernel.life import simulate
from tailrace.planning.kernel.model import FIGURES, FROM_THE_BEGINNING, Model, room_for
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import Ended
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

Floats = NDArray[np.float64]

SECOND = 1_000_000
RENEWED = 8  # settings in which the time-out is measured, too
POINTS = 2000  # quantiles of a law that must be reckoned


class Setting(NamedTuple):
    """A bag, two pools, a strategy."""

    tasks: int
    cheap: int
    share: float  # of attempts on cheap machines that return, unless their machine dies
    turnarounds: tuple[float, ...]
    dear_turnarounds: tuple[float, ...]
    patience: float
    n: int  # below 0: without end
    t: float
    d: float
    dear: int  # machines
    late: bool = False
    cancel: bool = False
    dies: float = 0.0  # a cheap machine, after so long on average, and is back at once; 0: never
    unit: float = 0.0  # of a lease in both pools; 0: the machines are there
    startup: float = 0.0
    # What only the models can do:
    retry_first: bool = True  # before the tail what failed goes before what was never sent
    then: tuple[float, float] | None = None  # since when, and what share returns of later attempts

    @property
    def terms(self) -> str:
        told = {
            "late results": self.late, "losers ended": self.cancel, "failures told": self.dies,
            f"leases by {self.unit:.0f} s": self.unit,
            f"{self.startup:.0f} s to start": self.startup,
        }  # fmt: skip
        return ", ".join(name for name, holds in told.items() if holds) or "paper's"


class Observed(NamedTuple):
    """How attempts on cheap machines fare, whose machines may die meanwhile."""

    share: float
    turnarounds: Floats
    failures: Floats


def drawn(number: int, *, paper: bool) -> Setting:
    """The n-th random setting."""
    rng = np.random.default_rng((number, paper))
    mean = rng.uniform(300, 3000)
    cheap, lives = int(rng.integers(4, 40)), float(rng.uniform(1, 4))
    d = mean * rng.uniform(0.8, 4)
    found = Setting(
        tasks=int(cheap * rng.uniform(1.5, 5)), cheap=cheap, share=float(rng.uniform(0.5, 1)),
        turnarounds=_scattered(rng, mean), dear_turnarounds=_alike(rng, mean),
        patience=4 * mean, n=int(rng.integers(-1, 4)),
        t=float(d * rng.choice([0, rng.random(), 1])), d=float(d),
        dear=int(rng.integers(1, 2 + cheap // 3)),
    )  # fmt: skip
    if paper:
        return found
    unit = float(mean * rng.uniform(0.5, 3))
    own = [
        {"dies": lives * mean, "share": 1.0, "cancel": True},
        {"unit": unit, "startup": float(unit * rng.uniform(0, 0.5)), "cancel": True},
        {"late": True}, {"cancel": True}, {"late": True, "cancel": True},
    ][number % 5]  # fmt: skip
    return found._replace(**own)  # type: ignore[arg-type]


def _scattered(rng: np.random.Generator, mean: float) -> tuple[float, ...]:
    """A hundred of some gamma law that begins late."""
    least, form = rng.uniform(0, 0.6), rng.uniform(0.7, 5)
    values = least + (1 - least) * rng.gamma(form, 1 / form, 100)
    return tuple((mean * values / values.mean()).round(3).tolist())


def _alike(rng: np.random.Generator, mean: float) -> tuple[float, ...]:
    """Reliable machines are homogeneous."""
    values = rng.uniform(0.3, 1.5) * mean * rng.uniform(0.7, 1.3, 20)
    return tuple(values.round(3).tolist())


@cache
def observed(one: Setting) -> Observed:
    values = np.array(one.turnarounds)
    if not one.dies:
        return Observed(one.share, np.sort(values), np.zeros(0))
    return mortal(values, one.dies)


def mortal(values: Floats, dies: float, share: float = 1.0) -> Observed:
    """Who lives without memory dies before the end of an attempt of length L with 1 - exp(-L/m).
    No more than `share` of the attempts would ever return; the others are known when it dies."""
    rng = np.random.default_rng(1)
    lengths, deaths = rng.choice(values, 1_000_000), rng.exponential(dies, 1_000_000)
    returned = (lengths < deaths) & (rng.random(lengths.size) < share)
    kept = (_quantiles(lengths[returned]), _quantiles(deaths[~returned]))
    return Observed(share * float(np.exp(-values / dies).mean()), *kept)


def _shares(one: Setting) -> list[tuple[float, float]]:
    first = (0.0, observed(one).share)
    return [first] if one.then is None else [first, one.then]


def _quantiles(values: Floats) -> Floats:
    found: Floats = np.quantile(values, (np.arange(POINTS) + 0.5) / POINTS)
    return found


# the kernel


def by_kernel(one: Setting, repetitions: int, seed: int = 1) -> Floats:
    """By repetition and measure."""
    seen = observed(one)
    shares = np.array(_shares(one))
    model = Model(
        tasks=one.tasks, cheap=one.cheap, dear=one.dear, turnarounds=seen.turnarounds,
        returned_from=shares[:, 0], returned=shares[:, 1], failures=seen.failures,
        dear_turnarounds=np.array(one.dear_turnarounds), patience_s=one.patience,
        retry_first=one.retry_first, late=one.late, cancel=one.cancel,
        cheap_startup_s=one.startup, cheap_unit_s=one.unit,
        dear_startup_s=one.startup, dear_unit_s=one.unit,
    )  # fmt: skip
    out = np.zeros((repetitions, 1, len(FIGURES)))
    strategy = np.array([[one.n, one.t, one.d, one.dear]], np.float64)
    work, other = room_for(model), room_for(model)
    simulate(model, FROM_THE_BEGINNING, strategy, seed, 0, out, work, other)
    found = dict(zip(FIGURES, out[:, 0, :].T, strict=True))
    paid = found["cheap_results"] + found["dear_results"]
    leased = found["cheap_lease_s"] + found["dear_lease_s"]
    return np.stack(
        [found["makespan"], found["tail_makespan"], found["dear_sent"], paid, leased], axis=1
    )


# the scheduler


def scenario(one: Setting, *, measured: bool = False) -> Scenario:
    """`measured`: the time-out before the tail is not given."""
    mean = float(np.mean(one.turnarounds))
    waits = f"turnaround_s = {mean}" if measured else f"patience_s = {one.patience}"
    life = f'up = {{ law = "exponential", mean = {one.dies} }}\ndown = 0' if one.dies else ""
    text = f"""
[pools.cheap]
{_machines(one, one.cheap)}
reliable = false
returns = {one.share}
luck = {{ law = "empirical", values = {list(one.turnarounds)} }}
detection = "{"reported" if one.dies else "deadline"}"
late_results = "{"accept" if one.late else "ignore"}"
{life}

[pools.dear]
{_machines(one, one.dear)}
luck = {{ law = "empirical", values = {list(one.dear_turnarounds)} }}

[bags.b]
tasks = {one.tasks}
length = 1
retries = {{ expired = 1000000, lost = 1000000 }}

[bags.b.replication]
strategy = "ntdmr"
n = {one.n}
t_s = {one.t}
d_s = {one.d}
mr = {one.dear / one.cheap}
{waits}
cancel = {str(one.cancel).lower()}
"""
    return read_scenario(read_toml(text, "setting"), "setting", text, Path())


def _machines(one: Setting, count: int) -> str:
    """A second costs 1: so the cost is the time that is paid."""
    if not one.unit:
        return f"machines = {count}"
    lease = f'lease = "{10 * one.unit:.6f}s"\nunit = "{one.unit:.6f}s"\nprice = "1 SU/s"'
    return f"max = {count}\nstartup = {one.startup}\n{lease}"


def by_scheduler(what: Scenario, seed: int) -> list[float]:
    """By measure."""
    counts = {"dear": 0, "paid": 0}

    def watch(event: object, decisions: list[object], _: int) -> None:
        if isinstance(event, Ended):
            counts["paid"] += event.outcome is Outcome.SUCCEEDED
        sent = [one for one in decisions if isinstance(one, Assign)]
        counts["dear"] += sum(one.host.startswith("dear") for one in sent)

    world = World(what, seed, watch=watch)
    world.run()
    bag, record = world.scheduler.state.bags[1], world.records[0]
    assert bag.tail_us is not None and record.complete, world.given_up
    end_us, paid = max(record.done), counts["paid"] + len(yet_to_return(world))
    leased = figures(world).get("cost_SU") or 0.0
    return [end_us / SECOND, (end_us - bag.tail_us) / SECOND, counts["dear"], paid, leased]


# step by step


def by_steps(one: Setting, seed: int) -> list[float]:
    """By measure; a step is a 400th of a turnaround."""
    seen = observed(one)
    bag = slow.Bag(
        one.tasks, one.cheap, seen.turnarounds.tolist(), _shares(one), one.dear_turnarounds,
        one.patience,
    )  # fmt: skip
    strategy = slow.Strategy(math.inf if one.n < 0 else one.n, one.t, one.d, one.dear)
    terms = slow.Terms(
        one.retry_first, one.late, one.cancel, seen.failures.tolist(),
        one.startup, one.unit, one.startup, one.unit,
    )  # fmt: skip
    found = slow.live(bag, strategy, terms, seed=seed, step=float(np.mean(one.turnarounds)) / 400)
    leased = found.cheap_leased + found.dear_leased
    return [found.makespan, found.tail, found.dear_sent, found.results, leased]


# the page


class Job(NamedTuple):
    setting: Setting
    scheduled: int  # runs by the scheduler
    stepped: int
    modelled: int  # by the kernel


class Compared(NamedTuple):
    """Of each measure: the kernel's mean, and how many standard errors the others are off."""

    setting: Setting
    mean: Floats
    scheduler: Floats
    steps: Floats
    relative: Floats  # of the scheduler

    @property
    def all(self) -> Floats:
        return np.concatenate([self.scheduler, self.steps])


def compare(job: Job) -> Compared:
    one, what = job.setting, scenario(job.setting)
    model = by_kernel(one, job.modelled)
    ran = np.array([by_scheduler(what, seed) for seed in range(job.scheduled)])
    stepped = np.array([by_steps(one, seed) for seed in range(job.stepped)])
    mean = model.mean(0)
    relative = np.divide(ran.mean(0) - mean, mean, out=np.zeros(len(mean)), where=mean > 0)
    return Compared(one, mean, apart(ran, model), apart(stepped, model), relative)


def apart(some: Floats, model: Floats) -> Floats:
    """In standard errors, by the deviation of the model: of what is rare, few runs know none. Where
    it is always the same (nothing is leased), a difference would be without end."""
    error = model.std(0) * math.sqrt(1 / len(some) + 1 / len(model))
    apart = some.mean(0) - model.mean(0)
    far = np.where(np.abs(apart) > 1e-6 * np.abs(model.mean(0)) + 1e-9, np.inf, 0.0)
    return np.where(error > 0, apart / np.where(error > 0, error, 1), far)


def renewed(job: Job) -> Floats:
    """How far makespan and tail makespan are off, where the scheduler measures the time-out."""
    mean = by_kernel(job.setting, job.modelled).mean(0)
    what = scenario(job.setting, measured=True)
    ran = np.array([by_scheduler(what, seed) for seed in range(job.scheduled)])
    off: Floats = (ran.mean(0) - mean)[:2] / mean[:2]
    return off


SETTINGS = [drawn(number, paper=paper) for paper in (True, False) for number in range(15)]


def main(runs: Runs, folder: Path) -> str:
    jobs = [Job(one, 20 * runs.seeds, 4 * runs.seeds, 1000 * runs.seeds) for one in SETTINGS]
    found = runs.each(compare, jobs)
    off = 100 * np.array(runs.each(renewed, jobs[:RENEWED]))
    return PAGE.format(
        claims=claims(*judged(found)), settings=_table(found),
        makespans=_range(off[:, 0]), tails=_range(off[:, 1]),
    )  # fmt: skip


def _range(values: Floats) -> str:
    return f"{values.min():+.1f} to {values.max():+.1f} %"


def judged(found: list[Compared]) -> list[Claim]:
    """Where failures are told, the scheduler does not do quite what the models do; see the page."""
    untold = [one for one in found if not one.setting.dies]
    told = [abs(float(one.relative[0])) for one in found if one.setting.dies]
    return [
        *_near("the scheduler's means are the kernel's", [one.scheduler for one in untold]),
        *_near("those of the paper's text are, too", [one.steps for one in found]),
        Claim("where failures are told, the scheduler's makespans are near", "3 %",
              f"at worst {100 * max(told, default=0):.1f} %", max(told, default=0) <= 0.03),
    ]  # fmt: skip


def _near(what: str, by_setting: list[Floats]) -> list[Claim]:
    """A mean that is always the same (no machine is leased, no dear one asked) tells nothing."""
    apart = np.abs(np.concatenate(by_setting))
    apart = apart[apart > 0]
    within, worst = float((apart <= 2).mean()), float(apart.max())
    return [
        Claim(what, "4 standard errors", f"at worst {worst:.1f}", worst <= 4),
        Claim(f"most of those {len(apart)} are nearer", "90 % within 2", f"{100 * within:.0f} %",
              within >= 0.9),
    ]  # fmt: skip


def _table(found: list[Compared]) -> str:
    head = ("terms", "tasks", "machines", "γ", "N", "T", "D", "makespan", "of the scheduler",
            "reliable attempts", "furthest apart: scheduler", "steps")  # fmt: skip
    return table(head, [_row(one) for one in found])


def _row(found: Compared) -> list[str]:
    one, mean = found.setting, found.mean
    return [
        one.terms, f"{one.tasks}", f"{one.cheap} + {one.dear}", f"{observed(one).share:.2f}",
        "∞" if one.n < 0 else f"{one.n}", f"{one.t:,.0f}", f"{one.d:,.0f}",
        f"{mean[0]:,.0f}", f"{100 * found.relative[0]:+.1f} %", f"{mean[2]:.1f}",
        f"{np.abs(found.scheduler).max():.1f}", f"{np.abs(found.steps).max():.1f}",
    ]  # fmt: skip


PAGE = """\
# NTDMr, three times

ExPERT plans with a model of NTDMr. Here it stands three times: the compiled kernel that plans,
event by event; the scheduler itself, which runs bags, in the virtual world; and the text of the
paper (4.4), step by step of time, slow and plain (`tests/planning/slow.py`). They share no code. In
thirty random settings of bag, pools and strategy, half of them in the paper's mode and half with
terms that pools have, they must agree in makespan, tail makespan, attempts sent to reliable
machines, results paid, and time of leases paid.

`make studies`, or `python -m studies ntdmr_agreement`, writes this page. For each of its seeds
(default 20) each setting is run 20 times by the scheduler, 4 times step by step, and 1,000 times by
the kernel. A standard error is that of the difference of both means.

{claims}

## Settings

Times in seconds. *Machines* are unreliable and reliable ones, *γ* is the share of attempts on
unreliable ones that return. The last columns are the largest of the five differences, in standard
errors.

{settings}

## What had to be said to make them agree

- The kernel is told that the scheduler sends what failed before what was never sent. In the paper's
  text a task that fails before the tail goes behind all others.
- The scheduler is told the time-out before the tail (`patience_s`), which it else renews from what
  it measures. In the first eight settings that moves the makespan by
  {makespans}, and that of the tail by
  {tails}.
- Results that losers bring after the end of the bag are paid, if nobody ends these. In the virtual
  world, which ends with the bag, those that would return in time are counted.
- D is for machines that fail: on reliable ones the scheduler gives attempts the time that they take
  there. Reliable machines here are homogeneous, within 30 %, and no attempt is given up.
- A failure that is told before the time-out: the next attempt is wanted as soon as none is under
  way, else T after the last was sent.
- An attempt whose task has its result meanwhile is given up at its time-out, also where late
  results count.
- A lease that stands idle when a paid unit ends is given back then. The scheduler looks a sixtieth
  of the unit before, so that what comes in between must lease anew: that is not to be seen here.

One difference is left. A task that failed on a machine is kept from it as long as there is another,
though that may be at work; the models know no such preference. It costs little where a time-out is
long, and some percent of the attempts on reliable machines where failures are told and the pool is
small.
"""
