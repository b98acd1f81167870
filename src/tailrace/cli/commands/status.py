"""`tailrace status`: the bags of this folder, or one of them more closely."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from tailrace.cli import hints, screen
from tailrace.cli.bags import arriving, standing
from tailrace.cli.bags.choosing import choose
from tailrace.cli.here import halfway
from tailrace.cli.hints import at_hand, hint
from tailrace.cli.servers.reached import reached, server_option
from tailrace.quantities import show_money
from tailrace.report import words
from tailrace.report.failures import FailureGroup
from tailrace.server.records import phases
from tailrace.server.records.reader import Details, Reader
from tailrace.server.records.reading import BagFacts

HEAD = ("bag", "name", "state", "tasks", "done", "failed", "left", "submitted", "took")
NUMBERS = ("bag", "tasks", "done", "failed", "left", "took")
MOST_GROUPS = 10
MOST_HALFWAY = 100
STEP_WIDE = 24


@click.command(
    epilog="Examples: `tailrace status` · `tailrace status 2` · `tailrace status --json`"
)
@click.argument("bag", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON; moments are microseconds.")
@server_option
def command(bag: str | None, as_json: bool, server: str | None) -> int:
    """Show the bags of this folder and how far they are.

    BAG is a number or a name; with it, more is told: failures in groups, and what to do next.
    """
    with reached(server) as here:
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(_told(here, bag))).decode())
        elif bag is None:
            show_all(here)
        else:
            show_one(here, choose(here, bag))
    return 0


def show_all(here: Reader) -> None:
    bags = here.bags()
    if not bags:
        served = "Hand one in with `tailrace submit`", "Start one with `tailrace run`"
        click.echo(at_hand(f"There is no bag here yet. {served[here.server is None]}."))
        return
    screen.print_table(screen.table(HEAD, [_row(here, facts) for facts in bags], NUMBERS))
    click.echo(f"\n{_server(here)}")
    _print_steps(
        standing.next_steps(bags[-1], served=here.server is not None)
        + [
            (f"tailrace resume {facts.bag}", standing.going_on(facts))
            for facts in bags[:-1]
            if phases.is_interrupted(facts, served=here.server is not None)
        ]
    )


def _row(here: Reader, facts: BagFacts) -> tuple[object, ...]:
    return (
        facts.bag,
        screen.short(facts.name, 40),
        phases.phase(facts, served=here.server is not None),
        f"{facts.count:,}",
        f"{facts.done:,}",
        f"{facts.failed:,}",
        f"{standing.left(facts):,}",
        words.moment(facts.submitted_us)[:19],
        words.duration(_took_us(here, facts)),
    )


def _took_us(here: Reader, facts: BagFacts) -> int:
    """To its end; while it runs, to now; without a server, to the last thing that happened."""
    running = here.now_us if facts.phase == "running" else None
    end = facts.ended_us or running or facts.last_us
    return max(end - facts.submitted_us, 0)


def _server(here: Reader) -> str:
    if here.server is None:
        return "No server runs here now."
    if here.server.pid is None:
        return f"On the server at {here.server.address}."
    return f"A server runs here now: {here.server.address} (process {here.server.pid})."


def _print_steps(steps: list[tuple[str, str]]) -> None:
    """In two columns, however long the program's path is."""
    typed = [at_hand(step) + hints.more for step, _ in steps]
    wide = max(map(len, typed), default=0)
    for step, (_, what) in zip(typed, steps, strict=True):
        click.echo(f"  {step:<{max(wide + 1, STEP_WIDE)}} {what}")


def show_one(here: Reader, facts: BagFacts) -> None:
    why = screen.plain(phases.reason(facts))
    state = phases.phase(facts, served=here.server is not None)
    more = here.details(facts.bag)
    click.echo(f"bag {facts.bag} ({screen.plain(facts.name)}): {state}{why and f': {why}'}")
    click.echo(f"  {_counts(here, facts)}")
    click.echo(f"  submitted {words.moment(facts.submitted_us)} in {screen.plain(more.folder)}")
    for text in (*([more.strategies] if more.strategies else []), *_money(more)):
        click.echo(f"  {text}")
    for one in halfway.ask(here.owner, facts.bag):
        click.echo(f"  {halfway.line(one)}")
    _print_failures(here.failures(facts.bag))
    for text in arriving.lines(facts.bag, more, served=here.server is not None):
        click.echo(f"  {text}")
    click.echo(f"  {_server(here)}")
    _print_steps(standing.next_steps(facts, served=here.server is not None))


def _counts(here: Reader, facts: BagFacts) -> str:
    parts = [f"{facts.succeeded:,} succeeded", f"{facts.failed:,} failed"]
    if standing.left(facts):
        parts.append(f"{standing.left(facts):,} left")
    if facts.live and here.server is not None:
        parts.append(f"{facts.live:,} sent")
    took = words.duration(_took_us(here, facts))
    return f"{words.count(facts.count, 'task')}: {', '.join(parts)}; {took}"


def _money(more: Details) -> list[str]:
    """What was spent of what may be, where anything costs or is bounded."""
    budget, spent = more.budget, more.spent
    return [
        f"{show_money(unit, spent.get(unit, 0))} spent"
        + (f" of {show_money(unit, budget[unit])}" if unit in budget else "")
        for unit in dict.fromkeys([*spent, *budget])
    ]


def _print_failures(groups: list[FailureGroup]) -> None:
    if groups:
        click.echo("  what went wrong:")
    for group in groups[:MOST_GROUPS]:
        click.echo(f"    {failure(group)}")
    if len(groups) > MOST_GROUPS:
        more = words.count(len(groups) - MOST_GROUPS, "kind")
        click.echo(f"    … and {more} more; `{hint('report')}` lists them")


def failure(group: FailureGroup) -> str:
    """One line: how many, how, the text, and which tasks."""
    code = "" if group.exit is None else f", exit {group.exit}"
    how = str(group.outcome).replace("_", " ")
    text = screen.short(group.text, 200) or "(nothing said)"
    tasks = ", ".join(map(str, group.examples)) + ", …" * (group.tasks > len(group.examples))
    saved = "" if group.unsaved else "; later attempts saved them"
    return f"{words.count(group.tasks, 'task')} ({how}{code}): {text}  [task {tasks}{saved}]"


def _told(here: Reader, bag: str | None) -> dict[str, Any]:
    if bag is None:
        bags = [_facts(here, facts) for facts in here.bags()]
        return {"server": here.server, "bags": bags}
    facts = choose(here, bag)
    groups = here.failures(facts.bag)
    far = halfway.ask(here.owner, facts.bag, MOST_HALFWAY)
    return {**_facts(here, facts), "server": here.server, "failures": groups, "halfway": far}


def _facts(here: Reader, facts: BagFacts) -> dict[str, Any]:
    more = here.details(facts.bag)
    return {
        **msgspec.to_builtins(facts),
        "state": phases.phase(facts, served=here.server is not None),
        "left": standing.left(facts),
        "took_us": _took_us(here, facts),
        "spent": {unit: micros / 1e6 for unit, micros in more.spent.items()},
        "unpublished": len(more.unpublished),
        "in_the_way": more.in_the_way,
        "next": [step for step, _ in standing.next_steps(facts, served=here.server is not None)],
    }
