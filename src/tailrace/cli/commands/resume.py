"""`tailrace resume`: go on with a bag that was interrupted, paused, stopped or cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailrace.cli.hints import hint
from tailrace.cli.screen import plain
from tailrace.cli.servers.reached import server_option
from tailrace.errors import Exit
from tailrace.scheduler.rows import BagPhase
from tailrace.server.records.reader import Reader
from tailrace.server.records.reading import BagFacts
from tailrace.server.tables.link import Link


@click.command(epilog="Example: `tailrace resume` goes on with the newest unfinished bag.")
@click.argument("bag", required=False)
@click.option(
    "--cores", "-j", help="Cores of this machine to use: 4, 50%, or all; default: as before."
)
@click.option("--memory", help="Memory of this machine to use; default: nearly all.")
@click.option("--price", help="What this machine costs: '0.10 USD/h'; default: as before.")
@click.option("--port", type=int, help="Port on loopback; default: any that is free.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the end as JSON.")
@click.option(
    "--report/--no-report",
    default=None,
    help="Write the HTML report; default: if long and not quiet.",
)
@server_option
def command(bag: str | None, server: str | None, **options: Any) -> int:
    """Go on with a bag: what has a result is not run again.

    BAG is a number or a name; default: the newest that is neither finished nor cancelled.

    Where a server stays (`tailrace serve`), it goes on there, and the command returns.
    """
    if server is not None or _is_served():
        return _told(server, bag)
    from tailrace.cli import place
    from tailrace.cli.bags import choosing
    from tailrace.cli.here.starting import resume
    from tailrace.server.records import reading
    from tailrace.server.records.reader import StoreReader

    folder = place.nearest()
    link = _opened(folder)
    try:
        facts = choosing.choose_to_resume(StoreReader(link, None), bag)
        waiting = reading.unpublished(link, facts.bag)
    finally:
        link.close()
    if facts.phase == BagPhase.FINISHED and not waiting and not options["as_json"]:
        return _nothing_left(facts, options["quiet"])
    return resume(folder, facts.bag, options)


def _is_served() -> bool:
    """By a server that stays, here or elsewhere; that of a run belongs to its bag."""
    from tailrace.cli import place
    from tailrace.cli.servers.reached import logged_in, named
    from tailrace.errors import BadInput
    from tailrace.server.tables import lock

    if named(None) is not None:
        return True
    try:
        owner = lock.alive(place.nearest())
    except BadInput:
        return logged_in() is not None
    return owner is not None and owner.stays


def _told(server: str | None, bag: str | None) -> int:
    from tailrace.cli.bags.choosing import choose_to_resume
    from tailrace.cli.servers.reached import reached
    from tailrace.scheduler.events import Change

    with reached(server) as here:
        facts = choose_to_resume(here, bag)
        over = facts.phase == BagPhase.FINISHED
        waiting = here.details(facts.bag).unpublished if over else []
        if over and not waiting:
            return _nothing_left(facts, quiet=False)
        here.change(facts.bag, Change.RESUME)
        if waiting:
            return _moved(here, facts)
    click.echo(f"bag {facts.bag} ({plain(facts.name)}) goes on; `{hint(f'watch {facts.bag}')}`")
    return 0


def _moved(here: Reader, facts: BagFacts) -> int:
    """Its outputs, if what was in the way has gone."""
    from tailrace.cli.bags import arriving

    told = arriving.awaited(here, facts.bag)
    if told.unpublished:
        arriving.tell(facts.bag, told, served=True)
        return int(Exit.SERVER)
    click.echo(f"bag {facts.bag} ({plain(facts.name)}): its outputs are at their targets.")
    return 0


def _opened(folder: Path) -> Link:
    """An older store is brought up to date first: this command may write."""
    from tailrace.server.offline import Offline
    from tailrace.server.records import reading

    try:
        return reading.open_store(folder)
    except reading.OlderStore:
        with Offline(folder):
            return reading.open_store(folder)


def _nothing_left(facts: BagFacts, quiet: bool) -> int:
    if not quiet:
        click.echo(f"bag {facts.bag} ({plain(facts.name)}) is finished: nothing is left to do.")
        if facts.failed:
            retry = f"{hint(f'retry {facts.bag}')} && {hint(f'resume {facts.bag}')}"
            click.echo(f"  try the {facts.failed:,} failed again:  {retry}")
        click.echo(f"  see what came out:  {hint(f'results {facts.bag}')}")
    return int(Exit.SOME_FAILED if facts.failed else Exit.OK)
