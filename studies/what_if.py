"""Does a recorded run lie among the runs that are simulated from it?"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

from studies.runs import Runs
from studies.table import table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Apart, Claim, all_near, apart, claims
from tailrace.bag.tables import read_toml
from tailrace.cli.virtual import whatif
from tailrace.cli.virtual.whatif import Compared
from tailrace.server.records.measuring import MeasuredRun
from tailrace.simulation import settings
from tailrace.simulation.experiment import Todo, run_one
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.running import Running

SEEDS = 100
EACH = 8  # real runs of a kind
AT_ONCE = 2  # real runs: they sleep, but their workers share this machine
PATIENCE_S = 300
OUTSIDE = 0.05  # of single runs lie outside by right, at most
LEVEL = 0.01  # of all kinds and figures together: the chance to refute what is right
MOSTLY = 80  # %, at least, of the medians: where machines die, the recorded run is itself a draw
NEAR = 5.0  # %, at most
BAG = "name = \"naps\"\n{terms}\ncommand = '''{task}'''\n[parameters]\ns = [{lengths}]\n"
SLEEP = "sleep {s}"
SCALED = """sleep "$(awk 'BEGIN {{ print {s} / ENVIRON["TAILRACE_SPEED"] }}')" """
FAILING = "sleep {s}; case {s} in *7) exit 3;; esac"
PRICE = 'price = "36 USD/h"\nunit = "100ms"\n'
OWN_SEED = "seed = …"  # each run has other lives of its machines
AGING = f'up = {{ law = "uniform", from = "2.5s", to = "4s" }}\n{OWN_SEED}'
UNEQUAL = 'speed = { law = "empirical", values = [0.25, 1, 1] }\nseed = 4'
SLOW, FAST = f"[pools.slow]\ncores = 1\n{PRICE}", f"[pools.fast]\ncores = 1\nspeed = 2\n{PRICE}"


HEAD = (
    "kind",
    "deaths",
    "figure",
    "recorded",
    "inside",
    "medians beside it: mean",
    "lowest, highest",
)
CHANGED_HEAD = ("change", "setting", "figure", "before", "really so", "median", "95 % of the runs",
                "median beside it")  # fmt: skip

Figures = dict[str, float]


class Kind(NamedTuple):
    """Tasks that sleep for uniform times, on pools of the local machine."""

    pools: str
    tasks: int
    shortest_s: float
    longest_s: float
    task: str = SLEEP
    longer_s: tuple[float, ...] = ()  # some more, the first of all
    terms: str = ""  # of the bag

    def lengths(self, chance: Random) -> list[str]:
        drawn = [chance.uniform(self.shortest_s, self.longest_s) for _ in range(self.tasks)]
        return [f"{seconds:.3f}" for seconds in (*self.longer_s, *drawn)]


class Change(NamedTuple):
    """Of a run that was recorded: what is set in the simulation, and so in a real run."""

    before: Kind
    setting: str
    after: Kind


class Told(NamedTuple):
    """A figure of a recorded run beside those simulated from it."""

    kind: str
    deaths: int
    figure: str
    one: Compared

    @property
    def off(self) -> float:
        """The median's distance, in %."""
        return 100 * (self.one.apart or 0.0)


class Foretold(NamedTuple):
    """A figure of a real run that was changed beside those simulated from the one before."""

    name: str
    figure: str
    before: float
    one: Compared

    def cells(self) -> tuple[str, ...]:
        cells = whatif.cells(self.one, changed=True)[:4]
        setting = f"`{CHANGES[self.name].setting}`"
        return (self.name, setting, self.figure, f"{self.before:.5g}", *cells)


def pool(machines: int, *more: str) -> str:
    return "\n".join([f"[pools.local]\nmax = {machines}\ncores = 1", *more, ""])


def dying(mean: str) -> str:
    return pool(2, f'up = {{ law = "exponential", mean = "{mean}" }}', OWN_SEED, PRICE)


KINDS = {
    "two machines": Kind(pool(2), 120, 0.05, 0.25),
    "two machines, longer tasks": Kind(pool(2), 24, 0.5, 2.0),
    "three machines with a price": Kind(pool(3, PRICE), 120, 0.1, 0.3),
    "two that die after 6 s on average": Kind(dying("6s"), 200, 0.05, 0.25),
    "two that die after 2.5 s on average": Kind(dying("2.5s"), 120, 0.05, 0.25),
    "three that die after 2.5 to 4 s": Kind(pool(3, AGING, PRICE), 150, 0.05, 0.25),
    "a slow and a fast one": Kind(SLOW + FAST, 100, 0.1, 0.3, SCALED),
    "a slow and a fast one, longer tasks": Kind(SLOW + FAST, 14, 1.0, 4.0, SCALED),
    "one of three is slow": Kind(pool(3, UNEQUAL, PRICE), 90, 0.1, 0.3, SCALED),
    "a tenth of the tasks fail": Kind(pool(2, PRICE), 120, 0.05, 0.25, FAILING),
    "one task of 6 s": Kind(pool(3, PRICE), 60, 0.1, 0.3, longer_s=(6.0,)),
}

FEW, MORE = Kind(pool(2, PRICE), 20, 0.5, 1.5), Kind(pool(4, PRICE), 20, 0.5, 1.5)
RICH = Kind(pool(3, PRICE, 'lease = "1m"'), 20, 0.5, 1.5)
POOR = RICH._replace(terms='budget = "1.5 USD"')
CHANGES = {
    "two more machines": Change(FEW, "pools.local.max=4", MORE),
    "a budget that pays for two of three": Change(RICH, "bags.naps.budget=1.5 USD", POOR),
}


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    with tempfile.TemporaryDirectory(prefix="tailrace-study-") as place:
        told = [one for kind, path in _recorded(Path(place)) for one in _told(kind, path)]
        changed = [one for name in CHANGES for one in _changed(name, Path(place) / name)]
    return PAGE.format(
        each=EACH,
        seeds=SEEDS,
        claims=claims(*judged(told, changed)),
        rows=table(HEAD, [_cells(some) for some in _by_kind(told)]),
        changed=table(CHANGED_HEAD, [one.cells() for one in changed]),
    )


def _recorded(place: Path) -> Iterator[tuple[str, Path]]:
    todo = [(kind, n, place / f"{kind}-{n}") for kind in KINDS for n in range(EACH)]
    with ThreadPoolExecutor(AT_ONCE) as room:
        list(room.map(lambda one: record(KINDS[one[0]], one[2], one[1]), todo))
    yield from ((kind, path) for kind, _, path in todo)


def record(kind: Kind, folder: Path, seed: int) -> None:
    """A `tailrace run` of its own."""
    folder.mkdir(parents=True)
    (folder / "tailrace.toml").write_text(kind.pools.replace(OWN_SEED, f"seed = {seed}"))
    lengths = ", ".join(kind.lengths(Random(seed)))
    text = BAG.format(terms=kind.terms, task=kind.task, lengths=lengths)
    (folder / "bag.toml").write_text(text)
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--quiet", "--no-report"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAILRACE_")}
    done = subprocess.run(words, cwd=folder, env=kept, timeout=PATIENCE_S, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the run in {folder} ended with {done.returncode}")


def found(run: MeasuredRun, change: str | None = None, seeds: int = SEEDS) -> list[Figures]:
    """Of so many runs, simulated from what this one measured, with a value changed or not."""
    with whatif.as_file(run) as file:
        data = read_toml(file.read_text(), "run.toml")
        changed = settings.changed(data, [settings.one(change)] if change else [])
        scenario = read_scenario(changed, "run.toml", "", file.parent)
    return [run_one(Todo(scenario, seed)).figures for seed in range(seeds)]


def beside(run: MeasuredRun) -> dict[str, Compared]:
    """Figures of the recorded run beside those of the simulated ones."""
    return whatif.compare(whatif.recorded(run), found(run))


def beside_change(change: Change, folder: Path) -> dict[str, Compared]:
    """Figures of a real run that was changed beside those simulated from one that was not."""
    simulated = found(whatif.measured(folder / "before", None), change.setting)
    return whatif.compare(whatif.recorded(whatif.measured(folder / "after", None)), simulated)


def _told(kind: str, path: Path) -> Iterator[Told]:
    run = whatif.measured(path, None)
    died = sum(life.died for pool in run.pools for life in pool.lifetimes)
    for figure, one in beside(run).items():
        if _is_told(figure):
            yield Told(kind, died, figure, one)


def _changed(name: str, folder: Path) -> Iterator[Foretold]:
    change = CHANGES[name]
    record(change.before, folder / "before", 0)
    record(change.after, folder / "after", 0)
    before = whatif.recorded(whatif.measured(folder / "before", None)).figures
    for figure, one in beside_change(change, folder).items():
        if _is_told(figure):
            yield Foretold(name, figure, before[figure], one)


def judged(told: list[Told], changed: list[Foretold]) -> list[Claim]:
    """One run more or less is no verdict: of a hundred, five lie outside by right."""
    kinds = [apart(_mean(some), 0.0, NEAR) for some in _by_kind(told)]
    missed = [
        Apart(abs(one.one.median - one.one.recorded), abs(one.before - one.one.recorded) / 2)
        for one in changed
        if one.figure == "makespan_s"
    ]
    return [
        _all_inside(_by_kind(told)),
        _most(f"their median is within {NEAR:g} %", MOSTLY, [abs(one.off) <= NEAR for one in told]),
        all_near("so is the mean of the medians of each kind",
                 f"{NEAR:g} %, or twice the half width of its interval", kinds, "%"),
        all_near("a changed makespan is foretold better than by the run before",
                 "half of what the change made", missed, "s"),
    ]  # fmt: skip


def _all_inside(kinds: list[list[Told]]) -> Claim:
    """Each kind and figure by itself, that one which is wrong is not lost among many that are not;
    the level is shared out among them (Bonferroni), which holds however they depend."""
    level = LEVEL / len(kinds)
    chances = [(_chance(some), some) for some in kinds]
    least, worst = min(chances, key=lambda one: one[0])
    inside = sum(one.one.inside for one in worst)
    return Claim("recorded figures of each kind lie within the range of 95 % of the seeds",
                 f"p ≥ {level:.2g} (binomial, {LEVEL:g} of {len(kinds)} rows)",
                 f"at worst {inside} of {len(worst)}, p = {least:.2g}", least >= level)  # fmt: skip


def _chance(some: list[Told]) -> float:
    """That so many of them or more lie outside, if each does so one time in twenty."""
    runs, outside = len(some), sum(not one.one.inside for one in some)
    return sum(
        math.comb(runs, n) * OUTSIDE**n * (1 - OUTSIDE) ** (runs - n)
        for n in range(outside, runs + 1)
    )


def _by_kind(told: list[Told]) -> list[list[Told]]:
    """The runs of each kind and figure."""
    kinds: dict[tuple[str, str], list[Told]] = {}
    for one in told:
        kinds.setdefault((one.kind, one.figure), []).append(one)
    return list(kinds.values())


def _mean(some: list[Told]) -> Running:
    found = Running()
    for one in some:
        found.add(one.off)
    return found


def _cells(some: list[Told]) -> tuple[str, ...]:
    mean, recorded = _mean(some), [one.one.recorded for one in some]
    inside = sum(one.one.inside for one in some)
    return (
        some[0].kind, f"{fmean(one.deaths for one in some):.1f}", some[0].figure,
        f"{min(recorded):.4g} … {max(recorded):.4g}", f"{inside} of {len(some)}",
        f"{_signed(mean.mean)} ± {mean.half_width:.1f} %",
        f"{_signed(mean.least)} … {_signed(mean.most)} %",
    )  # fmt: skip


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _most(what: str, least: float, so: list[bool]) -> Claim:
    share = 100 * sum(so) / len(so)
    return Claim(what, f"{least:g} % of them", f"{sum(so)} of {len(so)}", share >= least)


def _is_told(figure: str) -> bool:
    return figure == "makespan_s" or figure.startswith("cost")


PAGE = """\
# Does a recorded run lie among those simulated from it?

`tailrace simulate RUN` makes a scenario of what a run has measured ([how](../how-to/what-if.md)).
With nothing changed, the recorded makespan and cost should lie within the range of 95 % of {seeds}
seeds, and the median should be within 5 % of them. Here are {each} real runs of each of several
kinds: tasks that sleep for uniform times, on [rehearsal pools](../how-to/rehearse.md) whose workers
are really started and really killed. `python -m studies what_if` does them again and writes this
page; it takes some minutes.

{claims}

The number of runs and the bounds were fixed before they were made. Each row below is judged by
itself: if 95 % of all runs lie inside, as few as 4 of {each} do so in fewer than 4 of 10,000 rows,
and so it is in any row of all once in a hundred series at most. The interval is that of the mean of
the {each} runs of a kind, at 95 %: one kind in a thousand is beyond twice its half width by chance.

{rows}

Where machines die, or one is slow, the recorded run is itself one of many that might have been,
with deaths at other moments, and other tasks on the slow one at the end: its makespan is a draw
from a range like that of the seeds, so that a median further away than 5 % is no fault by itself. A
mean of {each} runs that is further away would be one.

## With a change

And when something is changed? A run was recorded, then simulated with a change, and then really run
with that change, of the same tasks:

{changed}

Start-ups and the load of the machine differ between two real runs. The seeds know of the former
only what the first run had, and nothing of the latter; so their range is narrower than that of real
runs.

## What it was before

Earlier the lengths were drawn anew for each task: then one long task came not at all, once or
twice, and medians were 10 to 16 % too long. Simulated workers told each result at once and never
called while they were busy; so less was lost with machines that died, and medians were 3 to 6 % too
short, in the worst kind up to 14 %. The moment in which a machine ends was not paid, which made
costs 1 to 2 % too low.

All rows were once judged together, 134 of 144 inside, while those of a slow and a fast pool were
inside 4 and 5 times of 8, with medians that were nearly all too short. Simulated pools were each of
a kind of its own, and did not wait for the first task, which in a real run is on trial for all
machines alike: with tasks of some seconds makespans were up to 15 % too short. And how fast a pool
is was taken from its mean run time, with whatever tasks it had.
"""
