"""`tailrace status`: the bags of this folder, or one of them more closely."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from tailrace.bag import strategies
from tailrace.cli import halfway, screen, standing
from tailrace.cli.choosing import choose
from tailrace.cli.hints import at_hand, hint
from tailrace.cli.stored import Stored, stored
from tailrace.quantities import show_money
from tailrace.report import words
from tailrace.report.failures import FailureGroup
from tailrace.server import bills, reading
from tailrace.server.reading import BagFacts
from tailrace.server.wrong import went_wrong

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
def command(bag: str | None, as_json: bool) -> int:
    """Show the bags of this folder and how far they are.

    BAG is a number or a name; with it, more is told: failures in groups, and what to do next.
    """
    with stored() as here:
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(_told(here, bag))).decode())
        elif bag is None:
            show_all(here)
        else:
            show_one(here, choose(here.link, bag))
    return 0


def show_all(here: Stored) -> None:
    bags = reading.bags(here.link)
    if not bags:
        click.echo(at_hand("There is no bag here yet. Start one with `tailrace run`."))
        return
    screen.print_table(screen.table(HEAD, [_row(here, facts) for facts in bags], NUMBERS))
    click.echo(f"\n{_server(here)}")
    _print_steps(
        standing.next_steps(bags[-1], served=here.served)
        + [
            (f"tailrace resume {facts.bag}", standing.going_on(facts))
            for facts in bags[:-1]
            if standing.is_interrupted(facts, served=here.served)
        ]
    )


def _row(here: Stored, facts: BagFacts) -> tuple[object, ...]:
    return (
        facts.bag,
        screen.short(facts.name, 40),
        standing.phase(facts, served=here.served),
        f"{facts.count:,}",
        f"{facts.done:,}",
        f"{facts.failed:,}",
        f"{standing.left(facts):,}",
        words.moment(facts.submitted_us)[:19],
        words.duration(_took_us(here, facts)),
    )


def _took_us(here: Stored, facts: BagFacts) -> int:
    """To its end; while it runs, to now; without a server, to the last thing that happened."""
    running = here.now_us if facts.phase == "running" else None
    end = facts.ended_us or running or reading.last_moment(here.link, facts.bag)
    return max(end - facts.submitted_us, 0)


def _server(here: Stored) -> str:
    if here.server is None:
        return "No server runs here now."
    return f"A server runs here now: {here.server.address} (process {here.server.pid})."


def _print_steps(steps: list[tuple[str, str]]) -> None:
    """In two columns, however long the program's path is."""
    typed = [at_hand(step) for step, _ in steps]
    wide = max(map(len, typed), default=0)
    for step, (_, what) in zip(typed, steps, strict=True):
        click.echo(f"  {step:<{max(wide + 1, STEP_WIDE)}} {what}")


def show_one(here: Stored, facts: BagFacts) -> None:
    why = screen.plain(standing.reason(facts))
    state = standing.phase(facts, served=here.served)
    folder = reading.content(here.link, facts.bag).spec.folder
    click.echo(f"bag {facts.bag} ({screen.plain(facts.name)}): {state}{why and f': {why}'}")
    click.echo(f"  {_counts(here, facts)}")
    click.echo(f"  submitted {words.moment(facts.submitted_us)} in {screen.plain(folder)}")
    for text in (*_strategies(here, facts), *_money(here, facts)):
        click.echo(f"  {text}")
    for one in halfway.ask(here.server, facts.bag):
        click.echo(f"  {halfway.line(one)}")
    _print_failures(went_wrong(here.link, facts.bag))
    _print_unpublished(here, facts.bag)
    click.echo(f"  {_server(here)}")
    _print_steps(standing.next_steps(facts, served=here.served))


def _counts(here: Stored, facts: BagFacts) -> str:
    parts = [f"{facts.succeeded:,} succeeded", f"{facts.failed:,} failed"]
    if standing.left(facts):
        parts.append(f"{standing.left(facts):,} left")
    if facts.live and here.served:
        parts.append(f"{facts.live:,} sent")
    took = words.duration(_took_us(here, facts))
    return f"{words.count(facts.count, 'task')}: {', '.join(parts)}; {took}"


def _strategies(here: Stored, facts: BagFacts) -> list[str]:
    found = strategies.unusual(reading.bag_row(here.link, facts.bag).terms)
    return [found] if found else []


def _spent(here: Stored, facts: BagFacts) -> dict[str, int]:
    return bills.spent(here.link, facts.bag, here.now_us)


def _money(here: Stored, facts: BagFacts) -> list[str]:
    """What was spent of what may be, where anything costs or is bounded."""
    budget = reading.bag_row(here.link, facts.bag).terms.budget
    spent = _spent(here, facts)
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


def _print_unpublished(here: Stored, bag: int) -> None:
    """While a server runs they may be on their way."""
    waiting = [] if here.served else reading.unpublished(here.link, bag)
    if waiting:
        tasks = ", ".join(map(str, waiting[:5])) + ", …" * (len(waiting) > 5)
        what = words.count(len(waiting), "task")
        click.echo(f"  outputs of {what} are not at their targets yet  [task {tasks}]")
        click.echo(f"    `{hint(f'resume {bag}')}` moves them, or says what is in the way")


def failure(group: FailureGroup) -> str:
    """One line: how many, how, the text, and which tasks."""
    code = "" if group.exit is None else f", exit {group.exit}"
    how = str(group.outcome).replace("_", " ")
    text = screen.short(group.text, 200) or "(nothing said)"
    tasks = ", ".join(map(str, group.examples)) + ", …" * (group.tasks > len(group.examples))
    saved = "" if group.unsaved else "; later attempts saved them"
    return f"{words.count(group.tasks, 'task')} ({how}{code}): {text}  [task {tasks}{saved}]"


def _told(here: Stored, bag: str | None) -> dict[str, Any]:
    if bag is None:
        bags = [_facts(here, facts) for facts in reading.bags(here.link)]
        return {"server": _about(here), "bags": bags}
    facts = choose(here.link, bag)
    groups = went_wrong(here.link, facts.bag)
    far = halfway.ask(here.server, facts.bag, MOST_HALFWAY)
    return {**_facts(here, facts), "server": _about(here), "failures": groups, "halfway": far}


def _about(here: Stored) -> dict[str, Any] | None:
    """Without its token."""
    owner = here.server
    return None if owner is None else {"address": owner.address, "pid": owner.pid}


def _facts(here: Stored, facts: BagFacts) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(facts),
        "state": standing.phase(facts, served=here.served),
        "left": standing.left(facts),
        "took_us": _took_us(here, facts),
        "spent": {unit: micros / 1e6 for unit, micros in _spent(here, facts).items()},
        "next": [step for step, _ in standing.next_steps(facts, served=here.served)],
    }
