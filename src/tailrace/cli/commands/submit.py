"""`tailrace submit`: a bag for a server, which runs it on the machines that joined."""

from __future__ import annotations

from typing import Any

import click

from tailrace.cli.bags.handed import HandingIn, bag_of, bag_options, note_unheeded
from tailrace.cli.servers.reached import server_option


@click.command(
    cls=HandingIn,
    epilog="Examples: `tailrace submit bag.toml` · `tailrace submit --server lab.join -- python "
    "sim.py {} ::: 1 2 3` · `tailrace submit --commands jobs.txt`",
)
@bag_options
@server_option
@click.option("--again", is_flag=True, help="Do all tasks, also those that have results there.")
@click.option("--keep", is_flag=True, help="Keep results although the program has changed.")
@click.option("--quiet", "-q", is_flag=True, help="Print the bag's number alone.")
@click.option("--json", "as_json", is_flag=True, help="Print number, name and count as JSON.")
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], **options: Any) -> int:
    """Hand a bag to a server, and return when it has it for good.

    The bag is what `tailrace run` takes. The server is named by --server or TAILRACE_SERVER, runs
    in the nearest `.tailrace`, or is the one you have logged in to. Inputs that the bag declares
    go along; its outputs come back with `tailrace fetch`. A bag that declares none runs in its
    folder, by its whole path, on whichever machine: that folder must be shared. Results of the same
    tasks in your earlier bags there are taken over.
    """
    from tailrace.cli.servers import submitting

    bag = bag_of(words, ctx.obj, options)
    note_unheeded(bag, options["quiet"])
    owner = submitting.server(options["server"])
    submitted, sent = submitting.submit(owner, bag, options)
    submitting.tell(submitted, owner, sent, quiet=options["quiet"], as_json=options["as_json"])
    return 0
