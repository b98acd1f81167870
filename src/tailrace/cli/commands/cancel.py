"""`tailrace cancel`: a bag is given up."""

from __future__ import annotations

import sys

import click

from tailrace.cli import screen
from tailrace.cli.bags import standing
from tailrace.cli.bags.choosing import choose_unfinished
from tailrace.cli.hints import hint
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import BadInput
from tailrace.scheduler.events import Change
from tailrace.scheduler.rows import BagPhase
from tailrace.server.records.reading import BagFacts


@click.command(epilog="Examples: `tailrace cancel` · `tailrace cancel 2 --yes`")
@click.argument("bag", required=False)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@server_option
def command(bag: str | None, yes: bool, server: str | None) -> int:
    """Cancel a bag: running tasks are ended, no more are sent; results stay.

    BAG is a number or a name; default: the newest that has not ended.
    """
    with reached(server) as here:
        facts = choose_unfinished(here, bag)
        label = f"bag {facts.bag} ({screen.plain(facts.name)})"
        if facts.phase in (BagPhase.FINISHED, BagPhase.CANCELLED):
            click.echo(f"{label} is {facts.phase} already: there is nothing to cancel.")
            return 0
        _confirm(label, facts, yes)
        taken = here.change(facts.bag, Change.CANCEL, why="cancelled by its owner")
    ended = "; the server ends its tasks" if taken else ""
    click.echo(f"{label} is cancelled{ended}. Results so far: `{hint(f'results {facts.bag}')}`")
    return 0


def _confirm(label: str, facts: BagFacts, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        remedy = f"To cancel without being asked: `tailrace cancel {facts.bag} --yes`."
        raise BadInput(f"{label} is not cancelled: nobody can be asked here", remedy=remedy)
    click.confirm(f"Cancel {label}, with {standing.left(facts):,} tasks left?", abort=True)
