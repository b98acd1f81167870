"""`tailrace report`: the HTML page of a bag."""

from __future__ import annotations

from pathlib import Path

import click

from tailrace.cli.bags.choosing import choose
from tailrace.cli.place import report_path
from tailrace.cli.stored import stored
from tailrace.errors import BadInput


@click.command(epilog="Examples: `tailrace report` · `tailrace report 2 -o report.html --open`")
@click.argument("bag", required=False)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Default: .tailrace/reports/BAG.html."
)
@click.option("--open", "and_open", is_flag=True, help="Show it in the browser.")
def command(bag: str | None, output: Path | None, and_open: bool) -> int:
    """Write the HTML report of a bag, finished or not, and print where it is.

    It is one file with nothing to fetch. BAG is a number or a name; default: the newest.
    """
    path = _write(bag, output)
    click.echo(str(path))
    if and_open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


def _write(bag: str | None, output: Path | None) -> Path:
    from tailrace.report.page import write_report
    from tailrace.server.records.recording import record

    with stored() as here:
        facts = choose(here, bag)
        told = record(here.link, facts.bag, here.now_us)
        path = output or report_path(here.folder, facts.bag, facts.name)
    try:
        return write_report(told, path)
    except OSError as error:
        remedy = "Name a file in a folder you may write to, with -o."
        raise BadInput(f"{path}: {error.strerror}", remedy=remedy) from error
