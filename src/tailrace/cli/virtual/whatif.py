"""`tailrace simulate RUN`: a recorded run becomes a scenario, and is compared with what comes out.

What was measured (run times, start-up, the time between tasks, deaths of machines, failures of
tasks) is drawn anew for each seed; what was agreed (prices, budget, rules) holds as it did. With
nothing changed the recorded run must lie among the simulated ones; then any value can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click
import msgspec

from tailrace.cli import place, screen
from tailrace.cli.bags.choosing import choose
from tailrace.cli.stored import stored
from tailrace.cli.virtual.scenariofile import ScenarioFile
from tailrace.errors import BadInput
from tailrace.quantities import MICRO, SECOND
from tailrace.report import words
from tailrace.server.records.measuring import MeasuredRun, measure
from tailrace.simulation.statistics import Figures

LEVEL = 0.95  # a run lies where it should with this probability, if there are seeds enough
HEAD = ("figure", "recorded", "median", "", "median beside it", "")


class Recorded(msgspec.Struct, frozen=True):
    """What the run itself came to, by the names of the simulation's figures."""

    bag: int
    figures: dict[str, float]
    notes: list[str]


class Compared(msgspec.Struct, frozen=True):
    """One figure of the recorded run beside those of the simulated ones."""

    recorded: float
    median: float
    low: float
    high: float
    level: float = LEVEL  # at least: of one more such run, to lie from low to high

    @property
    def inside(self) -> bool:
        return self.low <= self.recorded <= self.high

    @property
    def apart(self) -> float | None:
        """Of the median from the recorded value, as a share of that."""
        return None if not self.recorded else self.median / self.recorded - 1


def is_run(path: Path) -> bool:
    return path.is_dir()


def measured(run: Path, bag: str | None) -> MeasuredRun:
    with stored(run) as here:
        facts = choose(here, bag)
        found = measure(here.link, facts.bag)
    if not found.run_us:
        raise BadInput(
            f"no task of bag {found.bag} has ended: nothing was measured",
            remedy="Name another with --bag, or let it run for a while.",
        )
    return found


def recorded(run: MeasuredRun) -> Recorded:
    notes = []
    figures: dict[str, float] = {"tasks_failed": run.failed, "attempts": run.attempts}
    if run.makespan_us is None:
        notes.append(f"The bag has not finished: {run.done:,} of {run.terms.count:,} tasks are "
                     "done, and there is no makespan to compare with.")  # fmt: skip
    else:
        costs = {f"cost_{unit}": micros / MICRO for unit, micros in run.spent.items()}
        figures = {"makespan_s": run.makespan_us / SECOND, **costs, **figures}
    if run.paused_us:
        lasted = words.duration(run.paused_us)
        notes.append(f"It stood still for {lasted}: paused, or no server ran. That is taken off "
                     "its makespan; what was lost and paid by it is not simulated.")  # fmt: skip
    return Recorded(run.bag, figures, notes)


@contextmanager
def as_file(run: MeasuredRun) -> Iterator[Path]:
    """The very files that --as-scenario writes, for as long as they are read."""
    with TemporaryDirectory(prefix="tailrace-") as folder:
        made = ScenarioFile(run, "run.toml")
        for name, text in made.files().items():
            (Path(folder) / name).write_text(text)
        yield Path(folder) / made.name


def write_scenario(runs: Sequence[Path], bag: str | None, target: Path) -> int:
    """`--as-scenario FILE`: to be read and edited."""
    if len(runs) > 1 or not all(map(is_run, runs)):
        raise click.UsageError("--as-scenario takes one run: the folder in which it was run")
    made = ScenarioFile(measured(runs[0] if runs else place.nearest(), bag), target.name)
    for name, text in made.files().items():
        _write(target.with_name(name), text)
    click.echo("  ".join(str(target.with_name(name)) for name in made.files()))
    return 0


def _write(path: Path, text: str) -> None:
    try:
        with open(path, "x") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput("it is there already", file=str(path),
                       remedy="Give another name, or move it away.") from None  # fmt: skip
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=str(path)) from error


# beside the simulated runs


def compare(run: Recorded, found: Sequence[Figures]) -> dict[str, Compared]:
    """With those that finished: the others have no makespan, and less of everything else. Nothing
    where none did."""
    among = [one for one in found if not _is_unfinished(one)]
    if not among:
        return {}
    return {name: _compared(value, name, among) for name, value in run.figures.items()}


def _compared(value: float, name: str, found: Sequence[Figures]) -> Compared:
    told = (one.get(name, 0.0) for one in found)
    values = sorted(one for one in told if one is not None)
    aside, level = _prediction(len(values))
    return Compared(value, median(values), values[aside], values[-1 - aside], level)


def _prediction(runs: int) -> tuple[int, float]:
    """Where one more run lies, of the same law as these: how many of them to leave aside at either
    end, and with what probability at least. Each of the `runs + 1` gaps between them, and beyond,
    is as likely as another, whatever the law is. Fewer than 39 runs have not so many ends that 5 %
    would be outside: then nothing is left aside, and the level is lower."""
    beyond = max(int((runs + 1) * (1 - LEVEL) / 2 + 1e-9), 1)  # gaps, at either end
    return beyond - 1, 1 - 2 * beyond / (runs + 1)


def told(one: Compared) -> dict[str, float | bool]:
    return {**msgspec.structs.asdict(one), "inside": one.inside}


def show(run: Recorded, found: Sequence[Figures], *, changed: bool) -> None:
    """Whether the recorded run lies among them is a question only if nothing was changed."""
    compared = compare(run, found)
    rows = [(name, *cells(one, changed=changed)) for name, one in compared.items()]
    if rows:
        level = min(one.level for one in compared.values())
        head = tuple(name or f"{int(min(level, LEVEL) * 100)} % of runs" for name in HEAD[:-1])
        screen.print_table(screen.table((*head, ""), rows, right=head[1:]))
    unfinished = sum(_is_unfinished(one) for one in found)
    if unfinished == len(found):
        click.echo("None of the runs finished: there is nothing to compare the recorded run with.")
    elif unfinished:
        click.echo(f"{unfinished:,} of {words.count(len(found), 'run')} did not finish: stopped by "
                   "the budget, or braked; they are left out here.")  # fmt: skip
    for note in run.notes:
        click.echo(note)


def _is_unfinished(figures: Figures) -> bool:
    """Some task is left without a result."""
    return figures["makespan_s"] is None


def cells(one: Compared, *, changed: bool) -> tuple[str, ...]:
    """Of a table, as `HEAD` has them."""
    apart = "" if one.apart is None else f"{one.apart:+.1%}".replace("%", " %").replace("-", "−")
    verdict = "" if changed else "inside" if one.inside else "outside"
    return (_number(one.recorded), _number(one.median),
            f"{_number(one.low)} … {_number(one.high)}", apart, verdict)  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.5g}" if value < 1e5 else f"{value:,.0f}"
