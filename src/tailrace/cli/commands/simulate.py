"""`tailrace simulate`: scenarios in the virtual world, each with several seeds; or a recorded run,
back at one of its moments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource
from msgspec.structs import replace

from tailrace.cli import place
from tailrace.cli.outputs import check_writable
from tailrace.errors import BadInput, Exit, TailraceError

if TYPE_CHECKING:
    from tailrace.cli.virtual.seeding import Found
    from tailrace.cli.virtual.simulated import Result
    from tailrace.cli.virtual.variants import Variant
    from tailrace.simulation.experiment import Todo


# What is obeyed beside a flag that asks for one thing only, and what to do with the rest.
UNTIL = "leave it out: a recorded run is shown as it was; without --until it is simulated"
AS_SCENARIO = "write the scenario as it is, and simulate that file with it, or edit it"
MOST_SEEDS = 1_000_000  # what came of each is kept
TRACED = ("files", "trace", "seeds", "seed", "sets", "varies", "events", "bag", "quiet",
          "processes")  # fmt: skip


SEEDS = 20
SEEDS_OF_A_RUN = 100  # it is to lie among them


class Asked(msgspec.Struct, frozen=True):
    """What shall be run, and what shall be shown of it."""

    seeds: int | None
    seed: int
    sets: tuple[str, ...]
    varies: tuple[str, ...]
    processes: int | None
    quiet: bool
    bag: str | None  # of a run
    as_json: bool
    figures: tuple[str, ...]
    machines: bool
    links: bool
    running: bool
    trace: str | None
    expand: Path | None
    events: Path | None
    plot: Path | None


@click.command(
    epilog="Examples: `tailrace simulate grid.toml` · "
    "`tailrace simulate grid.toml --seeds 100 --vary pools.grid.machines=10,20,40` · "
    "`tailrace simulate . --set pools.local.max=12` · `tailrace simulate . --until 90s`"
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE…|RUN")
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    metavar="N",
    help=f"Runs of each scenario; default: {SEEDS}, of a RUN {SEEDS_OF_A_RUN}.",
)
@click.option("--seed", default=0, show_default=True, help="The first seed.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the scenario: pools.grid.machines=50. May be repeated.",
)
@click.option(
    "--vary",
    "varies",
    multiple=True,
    metavar="KEY=A,B,…",
    help="Run it with each of these values, and compare. Several are crossed.",
)
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="NAME",
    help="Show only this figure. May be repeated.",
)
@click.option("--machines", is_flag=True, help="Show each machine: its means over the runs.")
@click.option("--links", is_flag=True, help="Show each link of the network, likewise.")
@click.option("--running", is_flag=True, help="Show mean and variance after each run.")
@click.option(
    "--trace",
    metavar="FILE|-",
    help="Write each event and decision of the first run, as lines of JSON; - alone, to stdout.",
)
@click.option(
    "--expand",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Write all that was drawn in the first run.",
)
@click.option(
    "--events",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Take what is in this file, as --expand writes it, instead of drawing it.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.png|svg",
    help="Draw the remaining tasks over time; with --vary the figures against it.",
)
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON, with each run's figures.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option(
    "-j", "processes", type=click.IntRange(1), metavar="N", help="Runs at once; default: all cores."
)
@click.option(
    "--until", metavar="T", help="Of a RUN: how it stood 90s after its start, or at 14:05."
)
@click.option(
    "--explain", "subject", metavar="SUBJECT", help="With --until: of a task or host, why."
)
@click.option(
    "--as-scenario",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="Of a RUN: write it as a scenario, to be edited.",
)
@click.option("--bag", help="Of a RUN with several bags: number or name; default: the newest.")
def command(
    files: tuple[Path, ...], until: str | None, subject: str | None, bag: str | None,
    as_scenario: Path | None, as_json: bool, **asked: Any,
) -> int:  # fmt: skip
    """Run scenarios in the virtual world, driven by the same scheduler as real runs.

    A scenario is a TOML file: pools of machines that may fail, bags of tasks. It is run with
    several seeds; printed are mean, interval (95 %) and spread of each figure over the runs, and
    for several scenarios a table that compares them. Ctrl-C keeps what is done.

    RUN is a folder in which something was run; default: the nearest upwards. What it measured
    becomes a scenario: --set and --vary then say what if. With --until it is taken back to that
    moment, by its journal: tasks, hosts, leases, money, and the last decisions.
    """
    if until is not None or subject is not None:
        _alone("--until", ("files", "until", "subject", "bag", "as_json"), UNTIL)
        from tailrace.cli.virtual import travelling

        return travelling.command(files, until, bag, subject, as_json=as_json)
    if as_scenario is not None:
        _alone("--as-scenario", ("files", "as_scenario", "bag"), AS_SCENARIO)
        from tailrace.cli.virtual import whatif

        return whatif.write_scenario(files, bag, as_scenario)
    if asked["trace"] == "-":
        _alone("--trace -", TRACED, "name a file: --trace trace.jsonl")
    return _simulate(files or (_nearest_run(),), Asked(**asked, bag=bag, as_json=as_json))


def _alone(flag: str, obeyed: Sequence[str], remedy: str) -> None:
    """Whoever types a flag that would do nothing believes that it does."""
    context = click.get_current_context()
    for name in context.params:
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in obeyed:
            other = next(one.opts[0] for one in context.command.params if one.name == name)
            raise BadInput(f"{other} does nothing beside {flag}", remedy=remedy)


def _nearest_run() -> Path:
    try:
        return place.nearest()
    except BadInput as error:
        remedy = "Name a scenario file, or a folder in which something was run."
        raise BadInput(error.message, remedy=remedy) from None


def _simulate(files: Sequence[Path], asked: Asked) -> int:
    from tailrace.cli.virtual.seeding import bar_for, carry_out
    from tailrace.cli.virtual.simulated import check_figures
    from tailrace.cli.virtual.unpriced import unpriced
    from tailrace.cli.virtual.variants import read_variants
    from tailrace.simulation.experiment import Todo, run_one

    variants = read_variants(files, asked.sets, asked.varies, asked.events, asked.bag)
    check_figures(variants, asked.figures)
    _check_outputs(asked, len(variants))
    _check_kept(files, asked)
    for told in unpriced(variant.scenario for variant in variants):
        click.echo(f"tailrace: {told}.", err=True)
    if asked.trace == "-":
        run_one(Todo(variants[0].scenario, asked.seed, "-"))
        return Exit.OK
    todos = _todos(variants, asked)
    cores = asked.processes or len(os.sched_getaffinity(0))
    found = carry_out(todos, cores, bar_for(quiet=asked.quiet or asked.as_json))
    results = _results(variants, found)
    if found.done or asked.as_json:
        _print(results, asked)
    if asked.plot is not None and found.done:
        from tailrace.cli.virtual.plotting import plot

        plot(results, asked.figures, asked.plot)
    return _end(found, len(todos))


def _todos(variants: Sequence[Variant], asked: Asked) -> list[Todo]:
    """Seed by seed, so that all can be compared whenever it ends. The first run writes down what
    was asked for."""
    from tailrace.simulation.experiment import Todo

    curve = asked.plot is not None
    todos = [
        Todo(one.scenario, asked.seed + n, curve=curve)
        for n in range(asked.seeds or _enough(variants))
        for one in variants
    ]
    todos[0] = replace(todos[0], trace=asked.trace, expand=asked.expand and str(asked.expand))
    return todos


def _enough(variants: Sequence[Variant]) -> int:
    """As many of each, since they may be compared."""
    return SEEDS if all(one.recorded is None for one in variants) else SEEDS_OF_A_RUN


def _check_outputs(asked: Asked, variants: int) -> None:
    """Before anything runs: where it goes can be written, and it is of one scenario."""
    for flag, path in (("--trace", asked.trace), ("--expand", asked.expand)):
        if path is not None and variants > 1:
            remedy = "name one file, without --vary; --set and --seed choose the run"
            raise BadInput(
                f"{flag} is of one run, but there are {variants} scenarios", remedy=remedy
            )
        if path is not None and path != "-":
            check_writable(flag, Path(path))
    if asked.plot is not None:
        from tailrace.cli.virtual.plotting import check_plot

        check_plot(asked.plot)


def _check_kept(files: Sequence[Path], asked: Asked) -> None:
    """A scenario, or a file of events, is not written over by what came of it."""
    read = {path.resolve() for path in (*files, asked.events) if path is not None}
    written = (("--trace", asked.trace), ("--expand", asked.expand), ("--plot", asked.plot))
    for flag, path in written:
        if path is not None and path != "-" and Path(path).resolve() in read:
            remedy = "name another file: this one is read, and would be lost"
            raise BadInput(f"{flag} {path}: it would be written over", remedy=remedy)


def _results(variants: Sequence[Variant], found: Found) -> list[Result]:
    """In the order of the seeds, whichever ended first."""
    from tailrace.cli.virtual.simulated import Result

    return [
        Result(variant, [run for run in found.runs[n :: len(variants)] if run is not None])
        for n, variant in enumerate(variants)
    ]


def _print(results: list[Result], asked: Asked) -> None:
    from tailrace.cli.virtual import simulated

    main = simulated.main_figures(results, asked.figures)
    if asked.as_json:
        click.echo(simulated.as_json(results, asked.seed, main if asked.running else ()))
        return
    for result in results:
        _print_one(result, asked, main)
    if len(results) > 1:
        click.echo()
        simulated.show_compared(results, main)


def _print_one(result: Result, asked: Asked, main: Sequence[str]) -> None:
    from tailrace.cli.virtual import simulated

    simulated.show_figures(result, asked.figures)
    simulated.show_recorded(result)
    if asked.running and result.runs:
        simulated.show_running(result, main)
    if asked.machines:
        simulated.show_parts(result, "machines", [run.machines for run in result.runs])
    if asked.links:
        simulated.show_parts(result, "links", [run.links for run in result.runs])


def _end(found: Found, count: int) -> int:
    if not (found.interrupted or found.killed):
        return Exit.OK
    told = f"{found.done:,} of {count:,} runs are done, the figures are theirs"
    if not found.done:
        told = f"none of {count:,} runs is done"
    if found.killed is not None:
        raise TailraceError(f"{found.killed.message}: {told}", remedy=found.killed.remedy)
    click.echo(f"tailrace: interrupted: {told}.", err=True)
    return Exit.INTERRUPTED
