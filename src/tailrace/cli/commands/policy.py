"""`tailrace policy`: who runs the tasks of a bag, in which order, and how it is changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from tailrace.cli import screen
from tailrace.cli.bags.choosing import choose
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import BadInput
from tailrace.quantities import show_duration
from tailrace.report import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailrace.server.policysetting import HostTried, PolicyTold, PolicyTrial

HEAD = ("host", "pool", "matches", "rank", "most", "holds", "time-out", "why not")
RIGHT = ("rank", "most", "holds")
MOST_TASKS = 20  # that are listed


@click.group(
    epilog="Examples: `tailrace policy show` · `tailrace policy test 2` · "
    "`tailrace policy set 2 priority=5 pools='!spot'` · "
    "`tailrace policy set 2 Rank='Host.Speed'` · "
    "`tailrace policy set 2 --unset Rank` · `tailrace policy set 2 --file bag.toml`",
)
def command() -> None:
    """Show, try or change the policy of a bag: `show`, `test`, `set BAG NAME=VALUE …`.

    A policy says who runs the tasks of a bag, in which order, and how many at once: in plain words
    or as ClassAds. It may be changed while the bag runs, by its owner.
    """


@command.command("show")
@click.argument("bag", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@server_option
def show(bag: str | None, as_json: bool, server: str | None) -> int:
    """Print the policy of a bag as ClassAds, each with the word it came from.

    BAG is a number or a name; default: the newest.
    """
    with reached(server) as here:
        facts = choose(here, bag)
        told = here.policy(facts.bag)
    _print(told, facts.name, as_json=as_json)
    return 0


@command.command("test")
@click.argument("bag", required=False)
@click.option("--host", metavar="NAME", help="Of this host alone.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; times are microseconds.")
@server_option
def test(bag: str | None, host: str | None, as_json: bool, server: str | None) -> int:
    """Say which hosts would get tasks of a bag now, and which tasks would be sent twice.

    Nothing is sent for it. Hosts that match come first, those of the highest rank before others.
    BAG is a number or a name; default: the newest.
    """
    with reached(server) as here:
        found = here.try_policy(choose(here, bag).bag)
    verdicts = [one for one in found.hosts if host in (None, one.host)]
    if host is not None and not verdicts:
        known = ", ".join(one.host for one in found.hosts[:5]) or "none"
        raise BadInput(f"there is no host {host!r} now", remedy=f"Hosts are: {known}.")
    if as_json:
        _as_json(replace(found, hosts=verdicts))
        return 0
    if verdicts:
        screen.print_table(screen.table(HEAD, [_row(one) for one in verdicts], RIGHT))
    else:
        click.echo("No host is there now.")
    if host is None:
        for line in _twice(found.twice):
            click.echo(line)
    return 0


def _row(one: HostTried) -> tuple[object, ...]:
    timeout = "none" if one.timeout_us is None else show_duration(one.timeout_us)
    most = "as fit" if one.most is None else one.most
    matches = "yes" if one.matches else "no"
    rank = "none" if one.rank is None else f"{one.rank:g}"
    return (one.host, one.pool, matches, rank, most, one.holds, timeout, one.why)


def _twice(tasks: list[tuple[int, int]]) -> Iterator[str]:
    if not tasks:
        yield "No task would get one more attempt."
    for task, has in tasks[:MOST_TASKS]:
        yield f"task {task} would get one more attempt, beside {words.count(has, 'attempt')}"
    if len(tasks) > MOST_TASKS:
        yield f"… and {len(tasks) - MOST_TASKS:,} more"


@command.command("set")
@click.argument("bag")
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]…")
@click.option("--unset", multiple=True, metavar="NAME", help="Take this out; may be given often.")
@click.option("--file", type=click.Path(path_type=Path), help="All as this bag file says it.")
@click.option("--json", "as_json", is_flag=True, help="Print what holds then as JSON.")
@server_option
def set_policy(
    bag: str,
    given: tuple[str, ...],
    unset: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    server: str | None,
) -> int:
    """Change the policy of a bag: it is checked, tried, and holds from now on.

    NAME is priority, tasks_per_host, pools, hosts, max_attempts, or that of an expression: Rank,
    JobRequirements, ReplicationRequirements, Concurrency, Deadline, GridPolicy. What is not named
    stays as it is; with --file, what the file does not say is taken out.
    """
    from tailrace.cli.bags.policywords import of_file, typed

    if bool(file) == bool(given or unset):
        remedy = "Give NAME=VALUE or --unset NAME; or --file alone."
        raise BadInput("what the policy is to be is not said, or twice", remedy=remedy)
    with reached(server) as here:
        facts = choose(here, bag)
        asked = typed(given, unset) if file is None else of_file(file, here.policy(facts.bag))
        told, taken = here.set_policy(facts.bag, asked)
    _print(told, facts.name, as_json=as_json)
    if not taken and not as_json:
        click.echo("No server runs now; it holds when the bag goes on.")
    return 0


def _print(told: PolicyTold, name: str, *, as_json: bool) -> None:
    if as_json:
        _as_json(told)
        return
    for line in _lines(told, name):
        click.echo(screen.plain(line))


def _as_json(told: PolicyTold | PolicyTrial) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())


def _lines(told: PolicyTold, name: str) -> Iterator[str]:
    if told.text:
        yield from told.text.splitlines()
    else:
        yield f"bag {told.bag} ({name}) has no policy: any host may run its tasks."
    if told.weight != 1:
        yield f"weight {told.weight:g}, beside other bags of its owner"
    if told.tail_below is not None:
        stays = ", and does not end" if told.tail_stays else ""
        yield f"its tail begins when fewer than {told.tail_below:,} tasks wait to be sent{stays}"
    if told.losers_run_on:
        yield "losers run on: attempts whose task has its result from another are not ended"
