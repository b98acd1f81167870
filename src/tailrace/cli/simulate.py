"""`tailrace simulate`: a scenario in the virtual world, with several seeds; or a recorded run, back
at one of its moments."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tailrace.simulation.experiment import Running
    from tailrace.simulation.scenario import Scenario


@click.command(
    epilog="Examples: `tailrace simulate grid.toml` · "
    "`tailrace simulate grid.toml --seeds 100 --vary pools.grid.machines=10,20,40` · "
    "`tailrace simulate . --until 90s` (a run's folder)"
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE…|RUN")
@click.option("--seeds", default=20, show_default=True, help="Runs of each scenario.")
@click.option("--seed", default=0, show_default=True, help="The first seed.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change a value.")
@click.option("--vary", "varies", multiple=True, metavar="KEY=A,B,…", help="Each of these in turn.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the figures of each run.")
@click.option("-j", "processes", type=int, default=None, help="Runs at once; default: all cores.")
@click.option(
    "--until", metavar="T", help="Of a RUN: how it stood 90s after its start, or at 14:05."
)
@click.option(
    "--explain", "subject", metavar="SUBJECT", help="With --until: of a task or host, why."
)
@click.option("--bag", help="Of a RUN with several bags: number or name; default: the newest.")
def command(
    files: tuple[Path, ...], seeds: int, seed: int, sets: tuple[str, ...],
    varies: tuple[str, ...], as_json: bool, processes: int | None, until: str | None,
    subject: str | None, bag: str | None,
) -> int:  # fmt: skip
    """Run scenarios in the virtual world, driven by the same scheduler as real runs.

    Prints mean, interval and spread of each figure over the seeds. Ctrl-C keeps what is done.

    RUN is a folder in which something was run. With --until it is taken back to that moment, by
    its journal: tasks, hosts, leases, money, and the last decisions.
    """
    if until is not None or subject is not None:
        from tailrace.cli import travelling

        return travelling.command(files, until, bag, subject, as_json=as_json)
    if not files:
        raise click.UsageError("there is nothing to simulate: name a scenario file")
    if seeds < 1:
        raise click.UsageError(f"--seeds is {seeds}, but there must be one at least")
    told = []
    for file in files:
        for name, scenario in _variants(file, sets, varies):
            found, complete = _runs(name, scenario, range(seed, seed + seeds), processes)
            told.append(_told(name, seed, found))
            if not as_json:
                _show(name, found)
            if not complete:
                break
    if as_json:
        _print_json(told)
    return 0 if all(len(one["runs"]) == seeds for one in told) else 130


def _variants(
    file: Path, sets: tuple[str, ...], varies: tuple[str, ...]
) -> list[tuple[str, Scenario]]:
    from tailrace.bag.tables import read_toml
    from tailrace.bag.textfile import read_text
    from tailrace.simulation import settings
    from tailrace.simulation.reading import read_scenario

    shown = str(file)
    text = read_text(file, shown)
    data = read_toml(text, shown)
    for one in sets:
        path, value = settings.parse(one)
        data = settings.changed(data, path, settings.value_of(value))
    found = []
    for chosen in settings.variations(list(varies)):
        variant = data
        for path, value in chosen.items():
            variant = settings.changed(variant, path, value)
        words = ", ".join(f"{'.'.join(path)}={value}" for path, value in chosen.items())
        scenario = read_scenario(variant, shown, text, file.absolute().parent)
        found.append((f"{scenario.name} ({words})" if words else scenario.name, scenario))
    return found


def _runs(
    name: str, scenario: Scenario, seeds: range, processes: int | None
) -> tuple[list[dict[str, float]], bool]:
    from tailrace.simulation.experiment import run_seeds

    found: list[dict[str, float]] = []
    cores = processes or len(os.sched_getaffinity(0))
    try:
        for _, figures in run_seeds(scenario, seeds, cores):
            found.append(figures)
            _progress(name, len(found), len(seeds))
    except KeyboardInterrupt:
        return found, False
    return found, True


def _progress(name: str, done: int, seeds: int) -> None:
    if sys.stderr.isatty():
        end = "\r\033[K" if done == seeds else ""
        click.echo(f"\r{name}: {done} of {seeds} runs{end}", err=True, nl=False)


def _show(name: str, found: list[dict[str, float]]) -> None:
    from tailrace.cli import screen
    from tailrace.simulation.experiment import summary

    click.echo(f"{name}: {len(found)} runs")
    if not found:
        return
    rows = [_row(figure, sums) for figure, sums in summary(found).items()]
    head = ("figure", "mean", "95 %", "deviation", "least", "most", "")
    screen.print_table(screen.table(head, rows, right=head[1:6]))


def _row(figure: str, sums: Running) -> tuple[str, ...]:
    half = f"± {sums.half_width:.4g}" if sums.count > 1 else ""
    hint = "" if sums.settled or sums.count < 2 or not sums.mean else "wide: more seeds or longer?"
    return (figure, f"{sums.mean:.6g}", half, f"{sums.variance**0.5:.4g}", f"{sums.least:.6g}",
            f"{sums.most:.6g}", hint)  # fmt: skip


def _told(name: str, seed: int, found: list[dict[str, float]]) -> dict[str, Any]:
    from tailrace.simulation.experiment import summary

    means = {
        figure: {"mean": sums.mean, "variance": sums.variance, "least": sums.least,
                 "most": sums.most, "half_width": sums.half_width if sums.count > 1 else None,
                 "settled": sums.settled}
        for figure, sums in summary(found).items()
    }  # fmt: skip
    return {"scenario": name, "first_seed": seed, "figures": means, "runs": found}


def _print_json(told: list[dict[str, Any]]) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
