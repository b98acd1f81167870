"""ExPERT on machines that live as long as real ones did: what a plan foretells when the tail
begins, what comes of it, and what would have come without replication.

laws        lives of Google's preemptible machines, and of spot machines of two types of AWS
lived       a run in the virtual world, with the first plan that was made for it
main        the page
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from studies import data
from studies.runs import Runs, over
from studies.table import mean, table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims, known, nine_in_ten
from tailrace.bag.tables import read_toml
from tailrace.knowledge.inquiry import Forecast, Plan
from tailrace.scheduler import money
from tailrace.scheduler.events import PlanReady
from tailrace.simulation.laws import Law
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.running import Running
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.traces import lifetime_law
from tailrace.simulation.world import World

NEEDS = "TAILRACE_DATA"
SECOND, MICROS = 1_000_000, 1_000_000
POINTS = 400  # quantiles of a law
TASKS, CHEAP, DEAR = 200, 40, 4
MEAN_S = 1800
DEARER = 10.0  # % that replication may cost, at most
PLANNED, NONE = "planned", "none"
HOURS = 3600.0
ATTEMPTS, WORK, LATE = "attempts", "tasks", "tasks; late results count"  # how times differ
VARIES = f'{{ law = "gamma", shape = 4, mean = {MEAN_S} }}'

SCENARIO = """
[pools.spot]
max = {cheap}
reliable = false
price = "0.30 USD/h"
unit = "1s"
startup = "2m"
lease = "30d"
up = {{ law = "empirical", values = {lives} }}
detection = "reported"
late_results = "{late}"
luck = {luck}

[pools.cloud]
max = {dear}
price = "1.00 USD/h"
unit = "1s"
startup = "2m"
lease = "30d"
luck = {luck}

[bags.b]
tasks = {tasks}
length = {length}
retries = {{ expired = 1000000, lost = 1000000 }}
replication = {{ {replication} }}
"""
REPLICATION = {
    PLANNED: f'strategy = "planned", prefer = "product", turnaround_s = {MEAN_S}',
    NONE: f'strategy = "ntdmr", n = -1, t_s = {8 * MEAN_S}, d_s = {8 * MEAN_S}, mr = 0.1, '
          f"turnaround_s = {MEAN_S}",
}  # fmt: skip


def laws(place: Path) -> dict[str, Law]:
    seen = {
        "Google, preemptible": data.spot(place),
        "AWS p3, spot": data.spot_pool(place, "p3").lifetimes(),
        "AWS g4dn, spot": data.spot_pool(place, "g4dn").lifetimes(),
    }
    return {name: lifetime_law(samples) for name, samples in seen.items()}


def scenario(law: Law, differs: str, replication: str) -> Scenario:
    chances = (np.arange(POINTS) + 0.5) / POINTS
    lives = np.maximum(law.quantile(chances), 1.0).round(3).tolist()
    text = written(lives, differs, replication)
    return read_scenario(read_toml(text, "spot"), "spot", text, Path())


def written(lives: object, differs: str, replication: str) -> str:
    luck, length = (VARIES, "1") if differs == ATTEMPTS else ("1", VARIES)
    late = "accept" if differs == LATE else "ignore"
    return SCENARIO.format(
        late=late, cheap=CHEAP, dear=DEAR, lives=lives, tasks=TASKS, luck=luck, length=length,
        replication=REPLICATION[replication],
    )  # fmt: skip


class Foretold(NamedTuple):
    """By the first plan, of the time and the money from then on: the mean, and 90 % of bags."""

    lasts_h: tuple[float, float, float]
    costs: tuple[float, float, float]
    took_h: float  # what came of it
    cost: float


class Lived(NamedTuple):
    makespan_h: float
    tail_h: float
    cost: float
    lost: float  # attempts
    plan: Foretold | None

    @property
    def product(self) -> float:
        return self.tail_h * self.cost


class Job(NamedTuple):
    scenario: Scenario
    seed: int


class First:
    """Notes the first plan of a bag, and what had been spent when it was made."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.plan: Plan | None = None
        self.spent = 0

    def __call__(self, event: object, decisions: list[object], now: int) -> None:
        if isinstance(event, PlanReady) and event.plan is not None and self.plan is None:
            assert self.world is not None
            self.plan, state = event.plan, self.world.scheduler.state
            self.spent = money.spent(state, state.bags[1], "USD")


def lived(job: Job) -> Lived:
    first = First()
    world = first.world = World(job.scenario, job.seed, watch=first)
    world.run()
    assert world.records[0].complete, world.given_up
    done = np.sort(np.array(world.records[0].done)) / SECOND / HOURS
    all_of_it = figures(world)
    cost = float(all_of_it["cost_USD"])
    tail_us = world.scheduler.state.bags[1].tail_us
    assert tail_us is not None
    tail_h = tail_us / SECOND / HOURS
    end_h = float(done[-1])
    plan = None if first.plan is None else _foretold(first.plan, first.spent, end_h, cost)
    return Lived(end_h, end_h - tail_h, cost, float(all_of_it["jobs_lost"]), plan)


def _foretold(plan: Plan, spent: int, end_h: float, cost: float) -> Foretold:
    took_h = end_h - plan.at_us / SECOND / HOURS
    return Foretold(
        _in(SECOND * HOURS, plan.lasts), _in(MICROS, plan.costs), took_h, cost - spent / MICROS
    )


def _in(unit: float, one: Forecast) -> tuple[float, float, float]:
    return one.mean / unit, one.low / unit, one.high / unit


class Row(NamedTuple):
    """Of one kind of machines, where attempts differ in how long they take, or tasks."""

    name: str
    differs: str
    life_h: float
    runs: dict[str, list[Lived]]

    @property
    def plans(self) -> list[Foretold]:
        return [one.plan for one in self.runs[PLANNED] if one.plan is not None]

    def over(self, replication: str, which: str) -> Running:
        return over(self.runs[replication], lambda one: float(getattr(one, which)))

    def more(self, which: str) -> Running:
        """Planned beside none, run by run, in percent of the mean of none."""
        whole = self.over(NONE, which).mean
        both = zip(self.runs[PLANNED], self.runs[NONE], strict=True)
        return over(both, lambda two: 100 * (getattr(two[0], which) - getattr(two[1], which))
                    / whole)  # fmt: skip


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    place = data.folder()
    assert place is not None
    found = rows(runs, laws(place))
    return PAGE.format(
        seeds=len(found[0].runs[NONE]), claims=claims(*judged(found)),
        ways=table(WAYS, [_ways(one) for one in found]),
        plans=table(PLANS, [_plans(one) for one in found]), points=POINTS,
        tasks=TASKS, cheap=CHEAP, dear=DEAR, scenario=written("lives", ATTEMPTS, PLANNED).strip(),
        none=f"replication = {{ {REPLICATION[NONE]} }}",
    )  # fmt: skip


def rows(runs: Runs, lives: dict[str, Law]) -> list[Row]:
    kinds = [(name, differs) for differs in (ATTEMPTS, WORK, LATE) for name in lives]
    jobs = [Job(scenario(lives[name], differs, how), seed) for name, differs in kinds
            for how in REPLICATION for seed in range(runs.seeds)]  # fmt: skip
    ran = iter(runs.each(lived, jobs))
    return [
        Row(name, differs, lives[name].mean() / HOURS,
            {how: [next(ran) for _ in range(runs.seeds)] for how in REPLICATION})
        for name, differs in kinds
    ]  # fmt: skip


# what is claimed


def judged(found: list[Row]) -> list[Claim]:
    """Where attempts differ, as the model has it; and where it is tasks, which it does not know."""
    attempts, tasks, late = ([one for one in found if one.differs == kind]
                             for kind in (ATTEMPTS, WORK, LATE))  # fmt: skip
    lasts, costs = _contained("where attempts differ", attempts)
    return [
        _each_less("where attempts differ, a planned tail is shorter than one without replication",
                   attempts, "tail_h"),
        _each_less("so is its time × cost", attempts, "product"),
        known(_no_dearer("and the bag costs hardly more", attempts)),
        lasts,
        known(costs),
        known(_each_less("where tasks differ, a planned tail is shorter", tasks, "tail_h")),
        known(_no_dearer("and the bag costs hardly more", tasks)),
        *map(known, _contained("where tasks differ", tasks)),
        _count_late("planned tails of such tasks are shorter if late results count", tasks, late),
    ]  # fmt: skip


def _each_less(what: str, some: list[Row], which: str) -> Claim:
    gains = [one.more(which) for one in some]
    return Claim(what, "beyond the interval, with each kind of machine",
                 ", ".join(f"{mean(one)} %" for one in gains),
                 all(one.mean + one.half_width < 0 for one in gains))  # fmt: skip


def _no_dearer(what: str, some: list[Row]) -> Claim:
    more = [one.more("cost") for one in some]
    return Claim(what, f"at most {DEARER:.0f} %", ", ".join(f"{mean(one)} %" for one in more),
                 max(one.mean for one in more) <= DEARER)  # fmt: skip


def _count_late(what: str, ignored: list[Row], counted: list[Row]) -> Claim:
    both = zip(ignored, counted, strict=True)
    less = [(two.over(PLANNED, "tail_h").mean / one.over(PLANNED, "tail_h").mean - 1) * 100
            for one, two in both]  # fmt: skip
    return Claim(what, "shorter, with each kind of machine",
                 ", ".join(f"{one:.1f} %" for one in less), max(less) < 0)  # fmt: skip


def _contained(where: str, some: list[Row]) -> list[Claim]:
    plans = [plan for one in some for plan in one.plans]
    return [
        nine_in_ten(f"{where}, a tail takes what its first plan foretold",
                    [_within(one.took_h, one.lasts_h) for one in plans]),
        nine_in_ten("and costs it", [_within(one.cost, one.costs) for one in plans]),
    ]  # fmt: skip


def _within(value: float, foretold: tuple[float, float, float]) -> bool:
    _, low, high = foretold
    return low <= value <= high


# tables

WAYS = ("machines", "mean life, h", "what differs", "attempts lost: planned", "none",
        "tail, h: planned", "none", "more, %", "cost, USD: planned", "none", "more, %",
        "tail × cost: more, %")  # fmt: skip
PLANS = ("machines", "what differs", "time from the first plan on, h: foretold", "came to",
         "inside", "cost, USD: foretold", "came to", "inside")  # fmt: skip


def _ways(one: Row) -> tuple[str, ...]:
    return (
        one.name, f"{one.life_h:.1f}", one.differs,
        *(f"{one.over(how, 'lost').mean:.0f}" for how in REPLICATION),
        *(mean(one.over(how, "tail_h"), 2) for how in REPLICATION), mean(one.more("tail_h")),
        *(mean(one.over(how, "cost"), 2) for how in REPLICATION), mean(one.more("cost")),
        mean(one.more("product")),
    )  # fmt: skip


def _plans(one: Row) -> tuple[str, ...]:
    plans = one.plans
    return (
        one.name, one.differs,
        *_told([(plan.lasts_h, plan.took_h) for plan in plans]),
        *_told([(plan.costs, plan.cost) for plan in plans]),
    )  # fmt: skip


def _told(pairs: list[tuple[tuple[float, float, float], float]]) -> tuple[str, ...]:
    """Means of the runs."""
    middle, low, high = np.mean([foretold for foretold, _ in pairs], axis=0)
    came = over(pairs, lambda pair: pair[1])
    inside = sum(_within(found, foretold) for foretold, found in pairs)
    return (f"{middle:.2f} ({low:.2f} to {high:.2f})", mean(came, 2),
            f"{inside} of {len(pairs)}")  # fmt: skip


PAGE = """\
# ExPERT on spot machines

`--prefer product` plans the tail of a bag ([how](../how-to/plan.md#let-the-run-plan-itself)). Here
machines live as long as real ones did: Google's preemptible ones (Kadupitiya and others, 2019), and
AWS's spot machines of the types p3 and g4dn (the traces of Bamboo, by its authors). Beside each bag
stands the same bag, with the same seed, without replication. `make studies`, or `python -m studies
expert_spot`, writes this page when TAILRACE_DATA names the folder of the data; they are not part of
tailrace.

{claims}

A bag has {tasks} tasks of half an hour on average, {cheap} spot machines and {dear} reliable
ones; {seeds} runs of each row. A machine that goes is known to have gone, and another comes in
two minutes. The laws of lives are the traces, by Kaplan and Meier, at {points} points: a machine
that was still there, or that its user stopped, would have lived longer. *More* is planned beside
none, run by run, in percent of the mean of none. Of nine in ten that should lie within an
interval, as few as would be found once in a hundred series refute it. The percentages of a claim
are those of Google's machines, p3 and g4dn.

{ways}

The bound of 10 % was a guess, made before the runs of attempts that differ, and it is missed.
Without replication a machine that finds no task is given back; with a plan it runs a copy until
the bag ends. That is foretold (below), and worth it by what the bag prefers, the time of the tail
times the cost of the bag. Who minds the money alone takes `--prefer cost`.

## What came of what was foretold

By the first plan of each bag, from the moment on in which it was asked for: the means of the
runs, with the interval in which nine in ten should lie, and how many did.

{plans}

Where attempts differ the means are met, and the intervals are too narrow: fewer than nine in ten
lie within them, and of the costs so few that the claim is missed. There are two reasons, each
tried alone. A strategy is looked at 100 times at most (`CLOSER` in `planning/answering.py`), and
between the 5th and the 95th of a hundred samples lie 88 in a hundred others: with 1,000 looks it
was 53 of 60 times and 52 of 60 costs. And what is known of attempts when the tail begins are the
160 before it, one sample, of which the interval does not tell how far it is off: with bags of
1,000 tasks (`TASKS`) it was 56 and 55.

## Where tasks differ, not attempts

In ExPERT's model each attempt takes its own time, drawn anew: a copy of a task that takes long is
likely to be quick. That is so where machines differ, or what they are shared with. Here it is
first taken as it is there, and plans are right on average. Then it is the tasks that take long or
not: any copy of a long one is as long. A plan does not know that. It takes a task that has been
out for long for one that has been unlucky, and foretells that the tail will last for 0.3 to 0.6
of what it lasts; no interval is that wide. What copies bring there is only that a machine which
goes takes less with it: much where machines live for an hour or two, next to nothing where they
live for a day.

Worse, by such a plan an attempt is given up after an hour or so, and a task that takes longer is
begun again, until a later plan has seen more. Where results count that come after their attempt
was given up (`late_results = "accept"`, which is the default), such a tail is shorter: those rows
were added after a look at the others, to see whether this is the reason. The forecasts stay as
they are.

So where long tasks are long by themselves, take a plan's forecast for a lower bound.

## What is left out

Deaths that show by time-outs alone (`detection = "deadline"`): a dead machine of which nobody is
told stays leased, and is paid, until its lease ends, and none comes in its place. Such a bag ends
with its leases, whatever its plan.

The scenario, here of attempts that differ; `lives` stands for the points of the law. Where tasks
differ, it is their length that has the law of this `luck`:

```toml
{scenario}
```

Without replication:

```toml
{none}
```
"""
