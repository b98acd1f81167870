"""`tailrace watch`: follow a bag that another command runs."""

from __future__ import annotations

import time

import click

from tailrace.cli.bags import arriving
from tailrace.cli.bags.choosing import choose_unfinished
from tailrace.cli.here import halfway, pools
from tailrace.cli.here.live import View, view_for
from tailrace.cli.here.progress import Progress
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import Exit, ServerError
from tailrace.scheduler.rows import BagPhase
from tailrace.server.records.reader import Reader
from tailrace.server.records.reading import BagFacts

PATIENCE_S = 600  # with a server elsewhere, which may be started again
BACKOFF_S = (1, 30)
REFRESH_S = 1  # how long a call waits for news; the view moves on without any
CODES = {
    BagPhase.BRAKED: Exit.BRAKE,
    BagPhase.STOPPED: Exit.BUDGET,
    BagPhase.PAUSED: Exit.INTERRUPTED,
    BagPhase.CANCELLED: Exit.SOME_FAILED,
}


@click.command(epilog="Examples: `tailrace watch` · `tailrace watch 2 --quiet && ./evaluate.sh`")
@click.argument("bag", required=False)
@click.option("--quiet", "-q", is_flag=True, help="Show nothing; only wait for the end.")
@server_option
def command(bag: str | None, quiet: bool, server: str | None) -> int:
    """Follow a bag that runs, here or on a server, to its end. Ctrl-C leaves it running.

    BAG is a number or a name; default: the newest that has not ended. The exit code is that of
    the run: 0 all succeeded, 1 some failed; 6 when no server runs, or outputs cannot be moved to
    their targets.
    """
    with reached(server) as here:
        facts = choose_unfinished(here, bag)
        if here.server is None and facts.phase == BagPhase.RUNNING:
            return _nobody(here, facts)
        return follow(here, facts, quiet=quiet)


def follow(here: Reader, facts: BagFacts, *, quiet: bool) -> int:
    """To its end; the exit code of the run."""
    from tailrace.cli.commands.status import show_one

    if here.server is not None and facts.phase == BagPhase.RUNNING:
        _follow(here, facts, view_for(quiet=quiet))
        facts = here.bag(facts.bag)
    told, here = arriving.awaited(here, facts.bag), here.again()
    if not quiet:
        show_one(here, facts)
    elif told.unpublished:
        arriving.tell(facts.bag, told, served=here.server is not None)
    return int(Exit.SERVER) if told.unpublished else _code(facts)


def _nobody(here: Reader, facts: BagFacts) -> int:
    from tailrace.cli.commands.status import show_one

    click.echo("tailrace: no server runs here now, so there is nothing to watch.", err=True)
    show_one(here, facts)
    return int(Exit.SERVER)


def _follow(here: Reader, facts: BagFacts, view: View) -> None:
    progress = Progress(facts.name, facts.count, 0, 0, facts.submitted_us)
    machines = pools.Asking(here.owner)
    view.begin()
    try:
        while _heard(here, facts.bag, progress) or progress.phase == BagPhase.RUNNING:
            progress.halfway = halfway.ask(here.owner, facts.bag)
            progress.pools = machines.newest() if view.shows else []
            view.update(progress, time.time_ns() // 1000)
    except ServerError:
        pass  # it has ended; the tables say how
    except KeyboardInterrupt:
        click.echo("tailrace: watching ends; the run goes on.", err=True)
        raise
    finally:
        view.end()


def _heard(here: Reader, bag: int, progress: Progress) -> bool:
    """A server elsewhere that does not answer is asked again, for what comes after the last news.
    One of this folder has ended with its run."""
    pause, until, said = BACKOFF_S[0], time.monotonic() + PATIENCE_S, False
    while True:
        try:
            return _took_news(here, bag, progress)
        except ServerError as error:
            if _is_of_this_folder(here) or time.monotonic() > until:
                raise
            if not said:
                click.echo(f"tailrace: {error.message}; trying again", err=True)
        time.sleep(pause)
        pause, said = min(2 * pause, BACKOFF_S[1]), True


def _is_of_this_folder(here: Reader) -> bool:
    return here.owner is None or bool(here.owner.pid)


def _took_news(here: Reader, bag: int, progress: Progress) -> bool:
    """The feed tells the whole story, so a phase counts only when nothing comes after it."""
    wait = REFRESH_S if progress.phase == BagPhase.RUNNING else 0
    items = here.events(bag, progress.after, wait)
    for item in items:
        progress.take(item)
    return bool(items)


def _code(facts: BagFacts) -> int:
    if facts.phase == BagPhase.FINISHED:
        return int(Exit.SOME_FAILED if facts.failed else Exit.OK)
    return int(CODES.get(BagPhase(facts.phase), Exit.SERVER))
