"""Do the worlds agree? The same bag on a pool that fails, really run and simulated.

Each real run is a `tailrace run` of its own: a rehearsal pool whose workers are really killed, and
tasks that sleep for drawn times. What the real world adds by itself is measured in these runs and
put into the scenario: how long workers take to start, how much longer a task runs than it sleeps,
and what passes between the end of the one and the start of the next. All else, the laws of lengths
and lives, the number of machines and tasks, the trial of the first task, is the same in both, and
nothing is fitted to the makespans that are compared.
"""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from studies.agreement import LEVEL, TRIALS, Agreement, agreement, power, widths
from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, all_near, apart, claims
from tailrace.bag.tables import read_toml
from tailrace.cli import settings
from tailrace.cli.pools.poolsfile import rehearsal
from tailrace.errors import Exit
from tailrace.scheduler.events import HostSeen
from tailrace.scheduler.journal import replay
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.records import reading
from tailrace.server.records.bills import leases
from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import Uniform
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.running import Running
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

SEEDS = 200
MANY = 1000  # in the study itself
SERIES = 3  # so many real runs for each seed that is asked for: twenty find only gross differences
FIRST = 5000  # seed of the first real run; the simulated ones begin at 0
PATIENCE_S = 120
NEAR_S = 0.3
NEAR = 10.0  # %, of what pairs are apart in the mean
CALLS = 'calls = "worker"\n'
MOST_LEASES = 100
FAILED = "its machine failed"
MIDDLES = np.arange(0.025, 1, 0.05)  # of twenty equal shares, which stand for all that was observed
POOL = """
[pools.spot]
max = {case.machines}
cores = 1
reliable = false
up = {{ law = "exponential", mean = {case.life_s}, at_least = {case.least_s} }}
seed = {seed}
"""
BAG = """
name = "naps"
command = ["sleep", "{{s}}"]
repeatable = true
[parameters]
s = [{lengths}]
"""
SCENARIO = """
name = "worlds agree"
dispatch = {dispatch:.6f}

[pools.spot]
max = {case.machines}
reliable = false
{calls}offset = {offset:.6f}
startup = {{ law = "empirical", values = {startups} }}
up = {{ law = "exponential", mean = {case.life_s}, at_least = {least:.6f} }}

[bags.naps]
tasks = {case.tasks}
length = {{ law = "uniform", from = {case.shortest_s}, to = {case.longest_s} }}
trial = "2s"
"""
PAGE = """\
# Do the worlds agree?

The same bag on a pool that fails, really run and simulated: twelve naps of 0.4 to 1.6 seconds on
three machines that live 3.5 seconds on average, as a [rehearsal](../how-to/rehearse.md) whose
workers are really killed. `make studies`, or `python -m studies worlds_agree`, writes this page;
it takes about ten minutes. The pool of the real runs, each with a seed of its own:

```toml
{pool}
```

{claims}

The numbers of runs and the bounds were fixed before they were made. The journals hold {events}
events, and a fresh scheduler made the same decisions at every one.

{figures}

How much are such tests worth? If all real runs were longer than they should be by so much, the test
of Kolmogorov and Smirnov would find that so often, by {trials} trials with runs drawn from the
simulated ones:

{power}

It says little of how far they spread. That is what the test of Ansari and Bradley looks at, with
the median taken off on both sides. If all real runs were so many times as far from their median, it
would find that so often; the first column is the share of false alarms:

{widths}

Before there was such a test, a series of 60 had quartiles that were 0.91 s apart beside 1.54 s of
the simulated ones; so narrow are two or three of a thousand such samples. It had seeds 1000 to
1059, as all series had. The lives and lengths of these very seeds, simulated 150 times with other
start-ups, have quartiles that are 1.22 s apart in the median, and no more than 0.91 s in 6 % of the
times; those of 600 other seeds 1.64 s. Really run once more, on a busier machine, 45 of them were
2.40 s apart, beside 1.93 s of simulated ones and 1.85 s of those with the same fates. So it was the
seeds, and chance no rarer than one in sixteen, and no difference of the worlds that comes again.
The seeds are others now, on which no bound was tried.

Sharper: each real run simulated once, with its own run times, start-ups and lives in place of drawn
ones ([events](../reference/scenario.md#events)). Real and simulated makespan of such pairs are
apart as below, with machines that call as [real workers](../reference/scenario.md#calls) do, and
with machines that ask only when they are free, as all simulated ones did at first:

{apart}

Pairs part the further, the more else the cores have to do: results come late, and only the real
world knows. In our first series of 20, pairs were apart by 0.04 s in the median and 1.84 s at most,
14 of 20 by no more than 0.3 s; with machines that ask when they are free, by 0.06 s, 5.05 s, and 13
of 20. Nearly all pairs of that series that were further apart were looked at event by event. The
worlds agreed to 30 ms until a task ended within that time of its machine's death, in one world
before and in the other after it; or until the load of the machine held a result up. From there on
other tasks die with their machines. With machines that ask when they are free, they parted earlier:
a busy real worker has an open offer, and is sent ahead what another machine loses.

What is modelled: what the real world adds by itself is measured in the real runs and put into the
scenario. These are the time from wanting a lease to its worker's first call (`startup`, as
observed), by how much a task runs longer than it sleeps (`offset`), and what passes between the end
of one task and the start of the next, when neither waits for the other (`dispatch`, once per task).
A worker's life begins with its process, a simulated machine's with its first call, so that
`at_least` is less by the mean time between the two. Lengths, lives, machines and tasks are those of
the real runs, and nothing is fitted to the makespans. A run that was braked, because its machines
died one after the other, has no makespan: it counts as the longest, and is in no mean.

What is not: start-ups are drawn one by one, though three workers that start together, at the
beginning, slow each other down; and the news of a death is there at once, though it takes the
server some milliseconds.

The first comparison, of four runs, found simulated ones a quarter longer. The time between had
been taken as turnaround less run time, and so held the waiting of tasks that are sent ahead while
their host is busy. Simulated tasks wait there, too, by themselves.

```toml
{scenario}
```
"""
ATTEMPTS = """
SELECT idx, host, sent_us, ended_us, coalesce(run_us, 0), accepted, outcome FROM attempts
WHERE bag = 1 ORDER BY attempt
"""


class Case(NamedTuple):
    """What is run: naps of uniform lengths on machines of exponential lives."""

    tasks: int = 12
    machines: int = 3
    shortest_s: float = 0.4
    longest_s: float = 1.6
    life_s: float = 2.0  # on average, after
    least_s: float = 1.5  # that no machine fails in


class Observed(NamedTuple):
    """What one real run came to; times in seconds."""

    makespan_s: float
    lengths_s: list[float]  # of the naps
    lives_s: list[float]  # of each lease that might have been, from the start of its worker
    startups_s: dict[int, float]  # of each lease, from wanting it to its worker's first call
    lived_s: dict[int, float]  # of each lease that failed, from its worker's first call
    begun_s: list[float]  # of those that failed, from wanting it until its life begins
    ran_s: list[float]  # of each task, when it succeeded; or would have
    longer_s: list[float]  # each task than it slept
    between_s: list[float]  # each accepted attempt, neither running nor waiting for another
    lost: int  # attempts
    events: int  # of the journal, all of which gave the same decisions again


class Sent(NamedTuple):
    """An attempt of the store."""

    task: int
    host: str
    sent_us: int
    ended_us: int
    run_us: int
    accepted: int
    outcome: str


# the real world


def real_run(case: Case, folder: Path, seed: int) -> Observed:
    lengths = _lengths(case, seed)
    folder.mkdir()
    (folder / "tailrace.toml").write_text(POOL.format(case=case, seed=seed))
    listed = ", ".join(f"{length:.4f}" for length in lengths)
    (folder / "bag.toml").write_text(BAG.format(lengths=listed))
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--quiet", "--no-report"]
    env = _environment(folder)
    done = subprocess.run(words, cwd=folder, env=env, timeout=PATIENCE_S, check=False)
    if done.returncode not in (Exit.OK, Exit.SOME_FAILED, Exit.BRAKE):
        raise RuntimeError(f"the run in {folder} ended with {done.returncode}")
    pool = rehearsal(settings.load({}, folder).pools["spot"])
    lives = [(pool.life_us(lease) or 0) / 1e6 for lease in range(1, MOST_LEASES)]
    link = reading.open_store(folder / ".tailrace")
    try:
        return _observed(link, lengths, lives)
    finally:
        link.close()


def _lengths(case: Case, seed: int) -> list[float]:
    uniforms = Streams(seed).stream("worlds agree").array(case.tasks)
    return [float(x) for x in Uniform(case.shortest_s, case.longest_s).draw(uniforms)]


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TAILRACE_")}
    return {**kept, "XDG_CONFIG_HOME": str(folder)}


def _observed(link: sqlite3.Connection, lengths: list[float], lives: list[float]) -> Observed:
    """A task that was lost once too often is given up, in either world. A bag that is braked has no
    end, and counts as the longest."""
    facts = reading.bag(link, 1)
    rented = leases(link, 1)
    rows = [Sent(*row) for row in link.execute(ATTEMPTS)]
    good = {row.task: row for row in rows if row.accepted and row.outcome == "succeeded"}
    longer = [row.run_us / 1e6 - lengths[task] for task, row in good.items()]
    return Observed(
        math.inf if facts.ended_us is None else (facts.ended_us - facts.submitted_us) / 1e6,
        lengths,
        lives,
        _startups(rented, link),
        {
            one.lease: (one.gone_us - one.up_us) / 1e6
            for one in rented
            if one.gone_us and one.up_us and FAILED in one.why
        },
        [
            (one.gone_us - one.wanted_us) / 1e6 - lives[one.lease - 1]
            for one in rented
            if one.gone_us and FAILED in one.why
        ],
        [
            good[task].run_us / 1e6 if task in good else length + (fmean(longer) if longer else 0.0)
            for task, length in enumerate(lengths)
        ],
        longer,
        _between(rows),
        sum(row.outcome == "lost" for row in rows),
        _replayed(link),
    )


def _startups(rented: Sequence[LeaseRow], link: sqlite3.Connection) -> dict[int, float]:
    """Of those that came up in the same instant, a millionth of a second says who came first."""
    seen = [step.event.lease for step in replay(reading.journal(link), check=False)
            if isinstance(step.event, HostSeen)]  # fmt: skip
    came = {lease: place for place, lease in enumerate(dict.fromkeys(seen))}
    return {
        one.lease: (one.up_us - one.wanted_us + came[one.lease]) / 1e6
        for one in rented
        if one.up_us
    }


def _between(rows: Sequence[Sent]) -> list[float]:
    """What is sent ahead waits on its host until the one before has ended: that is no delay of the
    world's own."""
    free_us: dict[str, int] = {}
    found = []
    for row in rows:
        if row.accepted:
            began = max(row.sent_us, free_us.get(row.host, 0))
            found.append((row.ended_us - began - row.run_us) / 1e6)
        free_us[row.host] = row.ended_us
    return found


def _replayed(link: sqlite3.Connection) -> int:
    steps = list(replay(reading.journal(link), check=True))
    wrong = [number for number, step in enumerate(steps) if not step.same]
    if wrong:
        raise AssertionError(f"the journal replays otherwise from event {wrong[0]} on")
    return len(steps)


# the virtual world


def scenario_of(case: Case, observed: Sequence[Observed]) -> str:
    """A worker's life begins when its process does, a simulated machine's with its first call."""
    startups = [one for run in observed for one in run.startups_s.values()]
    return SCENARIO.format(
        case=case,
        calls=CALLS,
        dispatch=fmean(one for run in observed for one in run.between_s),
        offset=fmean(one for run in observed for one in run.longer_s),
        startups=[round(float(one), 3) for one in np.quantile(startups, MIDDLES)],
        least=case.least_s + _begun(observed) - fmean(startups),
    )


def _begun(observed: Sequence[Observed]) -> float:
    """After wanting a lease; where none failed nothing is known, and it matters little."""
    found = [one for run in observed for one in run.begun_s]
    return fmean(found) if found else 0.0


def same_fates(text: str, observed: Sequence[Observed]) -> list[float]:
    """The makespan of each real run, simulated with its own run times, start-ups and lives."""
    exact = "\n".join(line for line in text.splitlines() if not line.startswith("offset"))
    scenario, begun = _read(exact), _begun(observed)
    return [_one(replace(scenario, events=_fates(run, begun)), 0)["makespan_s"] for run in observed]


def _fates(run: Observed, begun: float) -> dict[str, array[float]]:
    mean = fmean(run.startups_s.values()) if run.startups_s else 0.0
    startups = [run.startups_s.get(number + 1, mean) for number in range(len(run.lives_s))]
    drawn = [
        max(life + begun - startup, 0.0)
        for life, startup in zip(run.lives_s, startups, strict=True)
    ]
    lives = [run.lived_s.get(number + 1, life) for number, life in enumerate(drawn)]
    known = {f"failure/spot/{number}/here": array("d", [life]) for number, life in enumerate(lives)}
    known["bag/1/lengths"] = array("d", run.ran_s)
    known["startup/spot"] = array("d", startups)
    return known


def simulated(text: str, seeds: int = SEEDS) -> list[dict[str, float]]:
    scenario = _read(text)
    return [_one(scenario, seed) for seed in range(seeds)]


def _read(text: str) -> Scenario:
    return read_scenario(read_toml(text, "scenario"), "scenario", text, Path())


def _one(scenario: Scenario, seed: int) -> dict[str, float]:
    """What a run that was braked does not know took for ever."""
    world = World(scenario, seed)
    world.run()
    found = figures(world)
    return {name: math.inf if value is None else value for name, value in found.items()}


# both


class Compared(NamedTuple):
    observed: list[Observed]
    scenario: str
    found: list[dict[str, float]]
    makespans: Agreement
    same_fates: list[float]  # makespans
    as_if_free: list[float]  # the same, if machines asked for work only when they are free


def compare(case: Case, runs: int, folder: Path, at_once: int = 1, seeds: int = SEEDS) -> Compared:
    with ThreadPoolExecutor(at_once) as room:
        begun = [room.submit(real_run, case, folder / str(n), FIRST + n) for n in range(runs)]
        observed = [one.result() for one in begun]
    scenario = scenario_of(case, observed)
    found = simulated(scenario, seeds)
    spans = [one.makespan_s for one in observed]
    both = agreement(spans, [one["makespan_s"] for one in found])
    free = scenario.replace(CALLS, "")
    return Compared(
        observed, scenario, found, both, same_fates(scenario, observed), same_fates(free, observed)
    )


def _figures(of: Compared) -> str:
    head = ["", "real: mean", "median", "quartiles", "simulated: mean", "median", "quartiles"]
    lost = [float(one.lost) for one in of.observed]
    rows = [
        ["makespan, s", *_cells(of.makespans.real), *_cells(of.makespans.simulated)],
        [
            "the same, of pairs with the same fates",
            *_cells(of.makespans.real),
            *_cells(of.same_fates),
        ],
        ["attempts sent again", *_cells(lost), *_cells([one["restarts"] for one in of.found])],
    ]
    return table(head, rows)


def _apart(of: Compared) -> str:
    head = ["", "on average", "in the median", "at most", f"no more than {NEAR_S:g} s"]
    ways = {"as workers call": of.same_fates, "when they are free": of.as_if_free}
    return table(head, [[way, *_gaps(of.makespans.real, ours)] for way, ours in ways.items()])


def _gaps(real: Sequence[float], ours: Sequence[float]) -> list[str]:
    apart = [one - other for one, other in _finished(real, ours)]
    sizes = [abs(one) for one in apart]
    near = sum(one <= NEAR_S for one in sizes)
    return [f"{fmean(apart):+.2f} s", f"{median(sizes):.2f} s", f"{max(sizes):.2f} s",
            f"{near} of {len(apart)}"]  # fmt: skip


def _cells(values: Sequence[float]) -> list[str]:
    low, high = np.quantile(values, (0.25, 0.75))
    mean = fmean(filter(math.isfinite, values))
    return [f"{mean:.2f}", f"{median(values):.2f}", f"{low:.2f} – {high:.2f}"]


def judged(of: Compared) -> list[Claim]:
    both, pairs = of.makespans, _pairs(of)
    sizes = [abs(real - ours) for real, ours in pairs]
    longer = Running()
    for real, ours in pairs:
        longer.add(100 * (real / ours - 1))
    return [
        Claim(f"{len(both.real)} real makespans and {len(both.simulated)} simulated are of one law",
              f"p ≥ {LEVEL:g} (Kolmogorov–Smirnov)",
              f"distance {both.distance:.3f}, p = {both.p:.2g}", both.holds),
        Claim("they spread alike around their medians", f"p ≥ {LEVEL:g} (Ansari–Bradley)",
              f"p = {both.spread_p:.2g}", both.spreads_alike),
        Claim("pairs with the same fates end together, in the median", f"{NEAR_S:g} s",
              f"{median(sizes):.2f} s", median(sizes) <= NEAR_S),
        all_near("and in the mean", f"{NEAR:g} %, or twice the half width of its interval",
                 [apart(longer, 0.0, NEAR)], "%"),
    ]  # fmt: skip


def _pairs(of: Compared) -> list[tuple[float, float]]:
    return _finished(of.makespans.real, of.same_fates)


def _finished(real: Sequence[float], ours: Sequence[float]) -> list[tuple[float, float]]:
    return [both for both in zip(real, ours, strict=True) if all(map(math.isfinite, both))]


def main(runs: Runs, folder: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="tailrace-worlds-") as place:
        found = compare(Case(), SERIES * runs.seeds, Path(place), seeds=MANY)
    events = sum(one.events for one in found.observed)
    return PAGE.format(
        figures=_figures(found), apart=_apart(found),
        claims=claims(*judged(found)), power=power(found.makespans), trials=TRIALS,
        widths=widths(found.makespans),
        events=f"{events:,}",
        pool=POOL.format(case=Case(), seed="…").strip(), scenario=found.scenario.strip(),
    )  # fmt: skip
