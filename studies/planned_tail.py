"""Does a planned tail end sooner? Real bags on machines that are slow, and that die."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, claims, nine_in_ten
from tailrace.report.record import PlanRecord, Record
from tailrace.scheduler.events import PlanReady
from tailrace.scheduler.journal import replay
from tailrace.server.records import reading
from tailrace.server.records.recording import record
from tailrace.server.tables.link import Link

EACH = 5  # real runs of each way
SHORT = 3  # of much shorter tasks
AT_ONCE = 5  # they sleep, but their workers share this machine
PATIENCE_S = 600
MICRO = 1e6
PLANNED, WITHOUT = ("--prefer", "product"), ()
POOLS = """
[pools.spot]
price = "0.06 USD/min"
unit = "1s"
max = {case.machines}
cores = 1
reliable = false
speed = {{ law = "empirical", values = [0.25, 0.5, 1, 1, 1] }}
up = {{ law = "exponential", mean = "{case.life_s:g}s", at_least = "{case.least_s:g}s" }}
seed = {seed}

[pools.owned]
price = "0.60 USD/min"
unit = "1s"
max = 2
cores = 1
"""
BAG = """
name = "naps"
command = '''sleep "$(awk 'BEGIN {{{{ print {{s}} / ENVIRON["TAILRACE_SPEED"] }}}}')"'''
repeatable = true
unused = "ok"
budget = "50 USD"
retries = {{ lost = 50 }}

[parameters]
s = [{case.task_s:g}]
k = {{ from = 1, to = {case.tasks} }}
"""


class Case(NamedTuple):
    tasks: int = 20
    task_s: float = 20.0  # on a machine of speed 1
    machines: int = 6
    life_s: float = 70.0  # on average, after …
    least_s: float = 12.0


class Outcome(NamedTuple):
    """Of a real run. `plans` come with the time in seconds until each was there."""

    makespan_s: float
    tail_s: float  # since fewer tasks were left than there are unreliable machines
    micros: int
    lost: int
    plans: list[tuple[PlanRecord, float]]
    ended_us: int

    @property
    def first(self) -> PlanRecord:
        return self.plans[0][0]

    @property
    def came_us(self) -> int:
        """From the first plan on."""
        return self.ended_us - self.first.at_us

    @property
    def came_micro(self) -> int:
        return self.micros - self.first.spent_micro


class Pair(NamedTuple):
    """The same machines with the same lives and speeds: those of one seed."""

    seed: int
    planned: Outcome
    without: Outcome


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    with tempfile.TemporaryDirectory(prefix="tailrace-study-") as place:
        pairs = compare(Case(), EACH, Path(place), AT_ONCE)
        short = compare(SMALL, SHORT, Path(place), 2)
    return PAGE.format(
        claims=claims(*judged(pairs)), ways=_ways(pairs), plans=_plans(pairs),
        delays=_delays(pairs), short=_ways(short), short_plans=_plans(short),
        pool=POOLS.format(case=Case(), seed="…").strip(),
        bag=BAG.format(case=Case()).strip(),
    )  # fmt: skip


SMALL = Case(tasks=24, task_s=1.0, life_s=12.0, least_s=3.0)


def compare(case: Case, pairs: int, place: Path, at_once: int = 1) -> list[Pair]:
    ways = (PLANNED, WITHOUT)
    with ThreadPoolExecutor(at_once) as room:
        begun = [
            [room.submit(run, case, seed, way, place / f"{case.task_s:g}-{seed}-{len(way)}")
             for way in ways]
            for seed in range(1, pairs + 1)
        ]  # fmt: skip
        return [
            Pair(seed, *(one.result() for one in two)) for seed, two in enumerate(begun, start=1)
        ]


def run(case: Case, seed: int, way: Sequence[str], folder: Path) -> Outcome:
    """A `tailrace run` of its own."""
    folder.mkdir(parents=True)
    (folder / "tailrace.toml").write_text(POOLS.format(case=case, seed=seed))
    (folder / "bag.toml").write_text(BAG.format(case=case))
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--quiet", "--no-report", *way]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAILRACE_")}
    subprocess.run(words, cwd=folder, env=kept, timeout=PATIENCE_S, check=True)
    link = reading.open_store(folder / ".tailrace")
    try:
        return _outcome(case, record(link, 1), list(_delays_of(link)))
    finally:
        link.close()


def _outcome(case: Case, found: Record, delays: list[float]) -> Outcome:
    assert found.ended_us is not None
    results = sorted(one.ended_us or 0 for one in found.attempts if one.accepted)
    return Outcome(
        (found.ended_us - found.submitted_us) / MICRO,
        (found.ended_us - results[case.tasks - case.machines]) / MICRO,
        sum(one.billed_micro for one in found.leases),
        sum(one.outcome == "lost" for one in found.attempts),
        list(zip(found.plans, delays, strict=True)),
        found.ended_us,
    )


def _delays_of(link: Link) -> Iterator[float]:
    """From asking for a plan until it was there."""
    for step in replay(reading.journal(link), check=False):
        if isinstance(step.event, PlanReady) and step.event.plan is not None:
            began_us = reading.bag_row(link, 1).submitted_us + step.event.plan.at_us
            yield (step.now - began_us) / MICRO


def judged(pairs: Sequence[Pair]) -> list[Claim]:
    sooner = [one.without.makespan_s - one.planned.makespan_s for one in pairs]
    tails = [one.without.tail_s - one.planned.tail_s for one in pairs]
    told = [one.planned for one in pairs if one.planned.plans]
    return [
        Claim("each planned bag got its plan", f"{len(pairs)} of {len(pairs)}",
              f"{len(told)} of {len(pairs)}", len(told) == len(pairs)),
        Claim("planned bags end sooner than those without replication, in the mean of the pairs",
              "sooner", f"by {fmean(sooner):.1f} s, {sum(one > 0 for one in sooner)} of "
              f"{len(pairs)} pairs", fmean(sooner) > 0),
        Claim("so do their tails", "sooner", f"by {fmean(tails):.1f} s, "
              f"{sum(one > 0 for one in tails)} of {len(pairs)} pairs", fmean(tails) > 0),
        nine_in_ten("what they cost lies within the interval of the first plan",
                [_within(one.came_micro, one.first.costs_micro) for one in told]),
        nine_in_ten("so does how long they take",
                [_within(one.came_us, one.first.lasts_us) for one in told]),
    ]  # fmt: skip


def _within(value: float, foretold: tuple[int, int, int]) -> bool:
    _, low, high = foretold
    return low <= value <= high


def _ways(pairs: Sequence[Pair]) -> str:
    head = ("seed", "makespan: planned", "without", "tail: planned", "without", "cost: planned",
            "without", "attempts lost: planned", "without")  # fmt: skip
    return table(head, [_row(one) for one in pairs])


def _row(one: Pair) -> tuple[str, ...]:
    ways = (one.planned, one.without)
    return (
        f"{one.seed}", *(f"{way.makespan_s:.1f} s" for way in ways),
        *(f"{way.tail_s:.1f} s" for way in ways), *(_usd(way.micros) for way in ways),
        *(f"{way.lost}" for way in ways),
    )  # fmt: skip


def _plans(pairs: Sequence[Pair]) -> str:
    head = ("seed", "plans", "the first", "foretold", "came to", "cost foretold", "came to")
    return table(head, [_plan(one) for one in pairs])


def _plan(one: Pair) -> tuple[str, ...]:
    ran = one.planned
    if not ran.plans:
        return f"{one.seed}", "0", "its tail was over before", "–", "–", "–", "–"
    low_s, high_s = (us / MICRO for us in ran.first.lasts_us[1:])
    low, high = map(_usd, ran.first.costs_micro[1:])
    return (
        f"{one.seed}", f"{len(ran.plans)}", ran.first.strategy,
        f"{low_s:.1f} to {high_s:.1f} s",
        f"{ran.came_us / MICRO:.1f} s{_mark(ran.came_us, ran.first.lasts_us)}",
        f"{low} to {high}",
        f"{_usd(ran.came_micro)}{_mark(ran.came_micro, ran.first.costs_micro)}",
    )  # fmt: skip


def _mark(value: float, foretold: tuple[int, int, int]) -> str:
    return "" if _within(value, foretold) else " (outside)"


def _usd(micros: float) -> str:
    return f"{micros / MICRO:.3f} USD"


def _delays(pairs: Sequence[Pair]) -> str:
    found = [delay for one in pairs for _, delay in one.planned.plans]
    return f"{min(found):.1f} to {max(found):.1f} s" if found else "–"


PAGE = """\
# Does a planned tail end sooner?

`tailrace run --prefer product` plans the tail of a bag from what it has seen
([how](../how-to/plan.md#let-the-run-plan-itself)). Here real bags run on
[rehearsal pools](../how-to/rehearse.md) whose workers are really started and really killed: one of
cheap machines, a fifth of which take four times as long and a fifth twice as long, and all of which
die; and a reliable one at ten times the price. Each bag runs with `--prefer product`, and without
replication on machines with the same seed, and so with the same speeds and lives, one by one.
`python -m studies planned_tail` does them again and writes this page; it takes some minutes.

{claims}

The number of runs and the bounds were fixed before they were made; the lengths and lives after a
look at shorter tasks: of 12 s, on machines that lived 88 s, four pairs were sooner by 17 s in the
mean, by 75 s in one of them, and by 0.2 to 4.5 s later in the others. Of nine in ten that should
lie within an interval, as few as would be found once in a hundred series refute it.

{ways}

The tail is counted from the moment in which fewer tasks are left than there are cheap machines. A
run without replication is lucky or not: where a slow machine dies with its last task, all begins
anew. That is what a plan insures against, and an insurance costs something where nothing happens;
so it is the mean of the pairs that counts. Both runs of a pair go their own ways once they send
other tasks to their machines, or begin a little later.

What the first plan of each foretold, from the moment on in which it was asked for:

{plans}

## What the forecast does not know

A plan is reckoned as if it held from the moment in which it was asked for. It is there later: a
process starts, loads the compiled model and computes, which takes about a second of a core, and
longer where others want the core. Here it took {delays}. Meanwhile nothing is sent
beside another attempt, and machines that stand idle at the end of a paid second are given back. So
what a plan costs is rather overestimated, and its time underestimated, the more so the shorter the
tasks are. Nor is it known that a later plan will change it, or that
a machine which dies early makes the next one come a second later.

All else is told to it: prices, units, what is paid until when, which attempts are out and since
when, how long machines took to come, and that failures are known when they happen.

With tasks of a second on machines that live 15 s on average, it is of no use to plan:

{short}

{short_plans}

Such a tail lasts some seconds, and may be over before there is a plan. Then nothing is sent twice,
and both ways are alike.

## What it was before

The product that was to be least was that of the time and the cost of what was left. A cent counted
the more, the less was left: each plan was slower than the one before, and in one such bag a task of
6 s was waited for through three plans and 40 s, at 9 to 22 s foretold. Now it is, as in the paper,
that of the whole tail and the whole bag.

The pools of the runs, each with a seed of its own, and their bag:

```toml
{pool}
```

```toml
{bag}
```
"""
