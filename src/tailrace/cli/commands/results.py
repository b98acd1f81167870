"""`tailrace results`: what came out, for people and for programs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from tailrace.cli import screen
from tailrace.cli.bags.choosing import choose
from tailrace.cli.delivering import Format, deliver
from tailrace.cli.servers.reached import reached, server_option
from tailrace.cli.wanted import Wanted
from tailrace.errors import BadInput
from tailrace.report.record import Result, Which
from tailrace.server.records.reader import Reader

FORMATS = ("table", "csv", "json", "jsonl")


@click.command(
    epilog="Examples: `tailrace results` · `tailrace results --csv > results.csv` · "
    "`tailrace results 2 --failed --columns task,alpha,stderr` · `tailrace results -o all.parquet`"
)
@click.argument("bag", required=False)
@click.option("--table", is_flag=True, help="For people; the default, also piped.")
@click.option("--csv", is_flag=True, help="One row per task.")
@click.option("--json", is_flag=True, help="A list of result objects.")
@click.option("--jsonl", is_flag=True, help="One result object a line.")
@click.option("--parquet", metavar="FILE", type=click.Path(path_type=Path), help="Write FILE.")
@click.option("--output", "-o", metavar="FILE", type=click.Path(path_type=Path),
              help="Write FILE; its ending tells the format unless one is given.")  # fmt: skip
@click.option("--failed", is_flag=True, help="Only tasks that failed.")
@click.option("--done", is_flag=True, help="Only tasks that have ended, well or not.")
@click.option("--all", "every", is_flag=True, help="Every row in the table, not first and last.")
@click.option("--columns", metavar="A,B", help="Only these columns, in this order.")
@server_option
def command(bag: str | None, server: str | None, **options: Any) -> int:
    """Print the results: one row per task in the order of their numbers, also half-way.

    BAG is a number or a name; default: the newest. Parameters and values are joined; a task that
    has not ended has no outcome. What is printed is a table, on a terminal or not, unless a format
    is given.
    """
    form, path = _target(options)
    with reached(server) as here:
        chosen = choose(here, bag)
        found = Wanted(here, chosen, _which(failed=options["failed"], done=options["done"]))
        why = partial(_why, here, chosen.bag)
        deliver(found, form, path, columns=_columns(options), every=options["every"], why=why)
    return 0


def _why(here: Reader, bag: int, result: Result) -> str:
    return screen.plain(here.why(bag, result))


def _target(options: dict[str, Any]) -> tuple[Format, Path | None]:
    forms = [name for name in FORMATS if options[name]]
    if len(forms) > 1:
        message = f"{' and '.join(f'--{name}' for name in forms)} are given at once"
        raise BadInput(message, remedy="Give one of them.")
    form, parquet, output = next(iter(forms), None), options["parquet"], options["output"]
    if parquet is not None:
        if form is not None or output is not None:
            message = "--parquet and another format or -o are given at once"
            raise BadInput(message, remedy="Give one of them.")
        return Format.PARQUET, parquet
    if form is not None or output is None:
        return Format(form or "table"), output
    return _by_ending(output), output


def _by_ending(path: Path) -> Format:
    ending = path.suffix.removeprefix(".").lower()
    if ending == "txt":
        return Format.TABLE
    try:
        return Format(ending)
    except ValueError:
        known = ", ".join(f".{form.value}" for form in Format if form is not Format.TABLE)
        message = f"the ending of {path} tells no format"
        remedy = f"Endings are {known}; or give --csv, --json, --jsonl or --table."
        raise BadInput(message, remedy=remedy) from None


def _columns(options: dict[str, Any]) -> list[str] | None:
    text = options["columns"]
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _which(*, failed: bool, done: bool) -> Which:
    if failed and done:
        raise BadInput("--failed and --done are given at once", remedy="Give one of them.")
    if failed:
        return Which.FAILED
    return Which.DONE if done else Which.ALL
