"""`tailrace fetch`: a bag's outputs, from the server that has them."""

from __future__ import annotations

from pathlib import Path

import click

from tailrace.cli.bags.choosing import choose
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import BadInput, Exit, ServerError
from tailrace.report.words import count


@click.command(epilog="Examples: `tailrace fetch` · `tailrace fetch 3 --to results-of-may`")
@click.argument("bag", required=False)
@click.option("--to", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Where they go; default: here.")  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@server_option
def command(bag: str | None, folder: Path | None, quiet: bool, server: str | None) -> int:
    """Bring the outputs of a bag here, also half-way: what is here already is not fetched again.

    BAG is a number or a name; default: the newest. Each output gets the name that the bag gives
    it, below DIR. A file of that name which is not the output is replaced by it.
    """
    from tailrace.cli.servers.fetching import fetch

    with reached(server) as here:
        chosen = choose(here, bag)
        if here.owner is None:
            raise BadInput(
                "no server is named, and none runs here",
                remedy="Outputs of bags that were run here are at their targets already.",
            )
        found = fetch(here.owner, chosen.bag, folder or Path())
    if found.waiting:
        what = f"{count(found.waiting, 'output')} of bag {chosen.bag}"
        raise ServerError(
            "\n".join([f"{what} wait on the server", *found.in_the_way]),
            remedy=f"`tailrace status {chosen.bag}` says how it stands; fetch them later.",
        )
    if not quiet:
        click.echo(found.told(chosen.bag))
    return int(Exit.OK)
