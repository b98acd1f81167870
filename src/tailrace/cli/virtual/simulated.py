"""What simulations have found: tables for people, JSON for programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
import msgspec

from tailrace.bag.tables import meant
from tailrace.cli import screen
from tailrace.cli.virtual import whatif
from tailrace.cli.virtual.variants import Variant
from tailrace.errors import BadInput
from tailrace.report import words
from tailrace.simulation.drawn import EXPLAINED
from tailrace.simulation.experiment import Run
from tailrace.simulation.running import SETTLED, Running, summary
from tailrace.simulation.statistics import Figures, Part, figure_names
from tailrace.simulation.steadiness import Growth, growth

MAKESPAN = "makespan_s"
UNKNOWN = "unknown"
#: The columns where scenarios are compared, and what --running follows; costs come with them.
MAIN = ("makespan_s", "deadline_kept", "tasks_done", "tasks_failed", "waiting_s", "turnaround_s",
        "busy", "work_lost")  # fmt: skip


class Result(msgspec.Struct, frozen=True):
    variant: Variant
    runs: list[Run]

    @property
    def sums(self) -> dict[str, Running]:
        """Each over the runs that know the figure: there may be none."""
        return summary(run.figures for run in self.runs)

    @property
    def growth(self) -> Growth | None:
        return growth([run.halves for run in self.runs])


def check_figures(variants: Sequence[Variant], asked: Sequence[str]) -> None:
    names = (name for variant in variants for name in figure_names(variant.scenario))
    known = list(dict.fromkeys(names)) if asked else []
    for name in asked:
        if name not in known:
            remedy = f"{meant(name, known)}the figures are {', '.join(known)}"
            raise BadInput(f"--figure {name}: there is no such figure", remedy=remedy)


def main_figures(results: Sequence[Result], asked: Sequence[str]) -> list[str]:
    """Those asked for, or the main ones; a cost is there only where something was paid."""
    known = dict.fromkeys(name for result in results for name in result.sums)
    return list(asked) or [name for name in known if name in MAIN or name.startswith("cost_")]


# tables


def show_figures(result: Result, asked: Sequence[str]) -> None:
    click.echo(f"{result.variant.name}: {_runs(len(result.runs))}")
    sums = result.sums
    shown = [name for name in sums if not asked or name in asked]
    rows = [_row(name, sums[name], len(result.runs)) for name in shown]
    head = ("figure", "mean", "95 %", "deviation", "least", "most", "")
    if rows:
        screen.print_table(screen.table(head, rows, right=head[1:6]))
    wide = any(_is_wide(sums[name]) for name in shown)
    for line in (*_hints(result, wide=wide), *_failed(result), *_warnings(result)):
        click.echo(screen.plain(line))


def _hints(result: Result, *, wide: bool) -> Iterator[str]:
    """On whether the means can be trusted."""
    if wide:
        yield f"wide: the interval is more than ± {SETTLED * 100:g} % of the mean; take more seeds"
    found = result.growth
    if found is not None and found.grows:
        yield (f"waiting grows during the run, from {_number(found.earlier_s, 4)} s to "
               f"{_number(found.later_s, 4)} s: the system has no steady state, or the run is too "
               "short")  # fmt: skip


def _failed(result: Result) -> Iterator[str]:
    found = fates(result)
    if found:
        told = ", ".join(f"{count:,} {outcome}" for outcome, count in found.items())
        yield f"failed tasks of all runs, by the outcome that ended them: {told}"
        if not any(run.figures["tasks_done"] for run in result.runs):
            finished = result.sums[MAKESPAN].count
            told = f"; {MAKESPAN} is when the last was given up" if finished else ""
            yield f"warning: no task succeeded in any run{told}"


def fates(result: Result) -> dict[str, int]:
    """Of all its runs, the commonest first."""
    found: Counter[str] = Counter()
    for run in result.runs:
        found.update(run.fates)
    return dict(found.most_common())


def _warnings(result: Result) -> Iterator[str]:
    all_runs = _runs(len(result.runs))
    for why, count in _unfinished(result).items():
        tasks = sum(run.left for run in result.runs if run.unfinished == why)
        yield (f"warning: {words.count(tasks, 'task')} without a result in {count:,} of "
               f"{all_runs}: {why}")  # fmt: skip
    yield from _never_drawn(result)
    if result.runs and (finished := result.sums[MAKESPAN].count) < len(result.runs):
        if finished:
            yield f"{MAKESPAN} is that of the {_runs(finished)} in which every task has its result"
        else:
            yield f"{MAKESPAN} is not known: no run ended with a result of every task"


def _never_drawn(result: Result) -> Iterator[str]:
    """Of the events in a file: a misspelt name changes nothing."""
    names = never_drawn(result)
    for name in names[:EXPLAINED]:
        hint = result.runs[0].never_drawn[name]
        yield f"warning: the events have {name}, but nothing is drawn under that name{hint}"
    if len(names) > EXPLAINED:
        yield f"warning: so do {len(names) - EXPLAINED:,} more names of them; --json lists all"


def never_drawn(result: Result) -> list[str]:
    """In none of the runs. One that was made of a run brings its own events, and needs not all."""
    if result.variant.recorded is not None or not result.runs:
        return []
    first, *others = result.runs
    return [name for name in first.never_drawn if all(name in one.never_drawn for one in others)]


def _unfinished(result: Result) -> dict[str, int]:
    return dict(Counter(run.unfinished for run in result.runs if run.unfinished))


def show_recorded(result: Result) -> None:
    """A scenario made of a run, beside that run."""
    variant = result.variant
    if variant.recorded is not None and result.runs:
        figures = [run.figures for run in result.runs]
        whatif.show(variant.recorded, figures, changed=variant.changed)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _row(figure: str, sums: Running, runs: int) -> tuple[str, ...]:
    if not sums.count:
        return (figure, UNKNOWN, "", "", "", "", "")
    half = apart = ""  # of one run nobody knows how others would differ
    if sums.count > 1:
        half, apart = f"± {_number(sums.half_width, 4)}", _number(sums.variance**0.5, 4)
    hints = ["wide"] if _is_wide(sums) else []
    if sums.count < runs:
        hints.append(f"of {sums.count:,} of {_runs(runs)}")
    return (figure, _number(sums.mean), half, apart, _number(sums.least), _number(sums.most),
            ", ".join(hints))  # fmt: skip


def _is_wide(sums: Running) -> bool:
    return sums.count > 1 and bool(sums.mean) and not sums.settled


def _number(value: float, digits: int = 6) -> str:
    """Large ones without an exponent."""
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def show_running(result: Result, figures: Sequence[str]) -> None:
    """After each run, as DSiDE's DMExec lists them; the first has no variance yet."""
    rows = []
    for figure in figures:
        for number, (run, mean, variance) in enumerate(_running(result, figure), 1):
            value = run.figures.get(figure, 0.0)
            rows.append((figure if number == 1 else "", number, run.seed,
                         UNKNOWN if value is None else _number(value),
                         "" if mean is None else _number(mean),
                         "" if variance is None else _number(variance)))  # fmt: skip
    head = ("figure", "run", "seed", "value", "mean so far", "variance so far")
    click.echo(f"{result.variant.name}: run by run")
    screen.print_table(screen.table(head, rows, right=head[1:]))


def _running(result: Result, figure: str) -> Iterable[tuple[Run, float | None, float | None]]:
    """A run that does not know the figure leaves both as they were."""
    sums = Running()
    for run in result.runs:
        value = run.figures.get(figure, 0.0)
        if value is not None:
            sums.add(value)
        mean = sums.mean if sums.count else None
        yield run, mean, sums.variance if sums.count > 1 else None


def show_parts(result: Result, kind: str, parts: Sequence[Sequence[Part]]) -> None:
    """Machines or links: their means over the runs that had them. What is zero for all of them
    only makes the table wide."""
    rows = means_of([list(map(_of_its_pool, run)) for run in parts])
    if not rows:
        click.echo(f"{result.variant.name}: no {kind}")
        return
    figures = [name for name in rows[0]["figures"] if any(row["figures"][name] for row in rows)]
    head = (kind, "of", "runs", *figures)
    cells = [(row["name"], row["of"], row["runs"], *_cells(row, figures)) for row in rows]
    click.echo(f"{result.variant.name}: {kind}, means over the runs")
    screen.print_table(screen.table(head, cells, right=head[2:]))


def _of_its_pool(part: Part) -> Part:
    """A leased machine is a new one each time: together they are one row."""
    return msgspec.structs.replace(part, name=f"{part.kind}, leased") if part.leased else part


def _cells(row: dict[str, Any], figures: Sequence[str]) -> list[str]:
    means = (row["figures"][figure] for figure in figures)
    return [UNKNOWN if mean is None else _number(mean, 5) for mean in means]


def means_of(parts: Sequence[Sequence[Part]]) -> list[dict[str, Any]]:
    """By name, in the order of their first coming. None: no run knows it."""
    found: dict[tuple[str, str], list[Figures]] = {}
    runs: Counter[tuple[str, str]] = Counter()
    for run in parts:
        runs.update({(part.name, part.kind) for part in run})
        for part in run:
            found.setdefault((part.name, part.kind), []).append(part.figures)
    return [
        {"name": name, "of": kind, "runs": runs[name, kind],
         "figures": {figure: sums.mean if sums.count else None
                     for figure, sums in summary(rows).items()}}
        for (name, kind), rows in found.items()
    ]  # fmt: skip


def show_compared(results: Sequence[Result], figures: Sequence[str]) -> None:
    """One row for each scenario; of the interval two digits, of the mean as many as these allow."""
    rows = []
    for result in results:
        sums = result.sums
        rows.append([result.variant.name, len(result.runs)]
                    + [_compared(sums.get(figure), len(result.runs)) for figure in figures]
                   )  # fmt: skip
    head = ("scenario", "runs", *figures)
    screen.print_table(screen.table(head, rows, right=head[1:]))
    for result in results:
        failed = sum(fates(result).values())
        if failed and "tasks_failed" not in figures:
            name = screen.plain(result.variant.name)
            click.echo(f"warning: {words.count(failed, 'task')} failed for good in {name}")


def _compared(sums: Running | None, runs: int) -> str:
    """Nothing for a cost that never arose."""
    if sums is None:
        return ""
    if not sums.count:
        return UNKNOWN
    return _interval(sums) + (f" of {_runs(sums.count)}" if sums.count < runs else "")


def _interval(sums: Running) -> str:
    if sums.count < 2 or not sums.variance:
        return _number(sums.mean)
    decimals = max(1 - math.floor(math.log10(sums.half_width)), 0)
    return f"{sums.mean:.{decimals}f} ± {sums.half_width:.{decimals}f}"


# JSON


def as_json(results: Sequence[Result], seed: int, running: Sequence[str]) -> str:
    told = [_told(result, seed, running) for result in results]
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


def _told(result: Result, seed: int, running: Sequence[str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "scenario": result.variant.name,
        "file": result.variant.file,
        "varied": {one.key: one.shown for one in result.variant.varied},
        "first_seed": seed,
        "figures": {figure: _sums(sums) for figure, sums in result.sums.items()},
        "runs": [run.figures for run in result.runs],
        "seeds": [run.seed for run in result.runs],
        "machines": means_of([run.machines for run in result.runs]),
        "links": means_of([run.links for run in result.runs]),
        "unfinished": _unfinished(result),
        "left": [run.left for run in result.runs],
        "failed": fates(result),
        "never_drawn": never_drawn(result),
        "growth": result.growth,
    }
    if result.variant.recorded is not None:
        found = whatif.compare(result.variant.recorded, told["runs"])
        told["recorded"] = {figure: whatif.told(one) for figure, one in found.items()}
    if running:
        told["running"] = {figure: _steps(result, figure) for figure in running}
    return told


def _sums(sums: Running) -> dict[str, Any]:
    """Where no run knows the figure: that, and nothing else."""
    if not sums.count:
        unknown = dict.fromkeys(("mean", "variance", "least", "most", "half_width"))
        return {"runs": 0, **unknown, "settled": False}
    half, variance = (sums.half_width, sums.variance) if sums.count > 1 else (None, None)
    return {"runs": sums.count, "mean": sums.mean, "variance": variance, "least": sums.least,
            "most": sums.most, "half_width": half, "settled": sums.settled}  # fmt: skip


def _steps(result: Result, figure: str) -> list[dict[str, Any]]:
    return [
        {"seed": run.seed, "mean": mean, "variance": variance}
        for run, mean, variance in _running(result, figure)
    ]
