"""`tailrace demo`: a small real study, written into a folder of its own, and run to its end."""

from __future__ import annotations

import os
import shlex
import sys
from importlib import resources
from pathlib import Path

import click

from tailrace.cli.hints import NAME, hint, program

FILES = ("bag.toml", "percolation.py")


@click.command(epilog="Example: `tailrace demo --folder my-first-bag`")
@click.option("--folder", default="tailrace-demo", show_default=True, help="Where to put it.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def command(folder: str, quiet: bool) -> int:
    """Run a small real example: 120 tasks, about half a minute, with live view and report.

    Does water find its way through a porous square? Each task draws a random square and looks.
    """
    from tailrace.bag.bagfile import load_bag_file
    from tailrace.cli import place
    from tailrace.cli.here.starting import OPTIONS, start
    from tailrace.server.tables.whereabouts import holds_runs

    where = Path(folder)
    words = "run --again" if holds_runs(place.for_run(where)) else "run"
    _write(where)
    if not quiet:
        click.echo(f"The example is in {where}/: bag.toml says what to run, percolation.py is it.")
        click.echo(f"This is what `cd {where} && {program(where)} {words} bag.toml` does:\n")
    options = {**OPTIONS, "quiet": quiet, "report": True, "again": True}  # to be seen each time
    code = start(load_bag_file(where / "bag.toml"), options)
    if not quiet:
        _show_results(where)
    return code


def _write(where: Path) -> None:
    where.mkdir(parents=True, exist_ok=True)
    source = resources.files("tailrace.cli") / "example"
    for name in FILES:
        if not (where / name).exists():
            (where / name).write_text((source / name).read_text())


def _show_results(where: Path) -> None:
    from tailrace.cli import place
    from tailrace.cli.bags import choosing
    from tailrace.cli.screen import print_table
    from tailrace.report.table import results_table
    from tailrace.server.records import reading
    from tailrace.server.records.reader import StoreReader

    link = reading.open_store(place.for_run(where))
    try:
        click.echo()
        results = reading.results(link, choosing.choose(StoreReader(link, None), None).bag)
        print_table(results_table(results, first=6, last=6))
    finally:
        link.close()
    click.echo(f"\nYour turn: change {where}/bag.toml, or `{hint('run -- echo {} ::: a b c')}`.")
    activate = Path(sys.prefix, "bin", "activate")
    if program() != NAME and activate.exists():
        shown = min(os.path.relpath(activate), str(activate), key=len)
        click.echo(f"To type `tailrace` alone: . {shlex.quote(shown)}")
