"""`tailrace replay`: the same inputs through the scheduler again; the same decisions?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tailrace.cli import screen
from tailrace.cli.bags.choosing import choose
from tailrace.cli.stored import stored
from tailrace.errors import Exit
from tailrace.report import words

if TYPE_CHECKING:
    from tailrace.scheduler.journal import Step


class Tally:
    def __init__(self) -> None:
        self.events = 0
        self.decisions = 0

    def __str__(self) -> str:
        decided = words.count(self.decisions, "decision")
        return f"{words.count(self.events, 'event')}, {decided}"


@click.command(epilog="Examples: `tailrace replay` · `tailrace replay 2 --events | less`")
@click.argument("bag", required=False)
@click.option("--events", is_flag=True, help="Print each event (with BAG: that concerns it).")
@click.option("--check", is_flag=True, help="Check the scheduler's invariants after each event.")
def command(bag: str | None, events: bool, check: bool) -> int:
    """Replay the journal and check that every decision comes out the same.

    The journal holds all bags of the folder, so all are replayed. Exit code 1, and the first event
    that differs, when one does.
    """
    from tailrace.cli.virtual.stepping import no_journal, replay_of

    tally = Tally()
    with stored() as here:
        number = None if bag is None else choose(here, bag).bag
        for step in _guarded(replay_of(here.link, check=check).steps(), tally):
            tally.events += 1
            tally.decisions += len(step.decisions)
            if events and (number is None or _concerns(step, number)):
                _print(step)
            if not step.same:
                return _differs(tally, step)
    if not tally.events:
        raise no_journal()
    click.echo(f"{tally}: identical.")
    return 0


def _guarded(steps: Iterator[Step], tally: Tally) -> Iterator[Step]:
    """A scheduler that stumbles over its own journal differs, and badly."""
    from tailrace.cli.virtual.stepping import STUMBLES, unreadable

    try:
        yield from steps
    except msgspec.MsgspecError as error:
        raise unreadable(error) from error
    except STUMBLES as error:
        click.echo(f"{tally} were identical, then the scheduler failed: {error!r}")
        raise click.exceptions.Exit(Exit.SOME_FAILED) from error


def _concerns(step: Step, bag: int) -> bool:
    things: list[Any] = [step.event, *step.decisions]
    things += [decision.row for decision in step.decisions if hasattr(decision, "row")]
    return any(getattr(thing, "bag", None) == bag for thing in things)


def _print(step: Step) -> None:
    click.echo(f"{words.moment(step.now)[:19]}  {_text(step.event)}")
    for decision in step.decisions:
        click.echo(f"    → {_text(decision)}")


def _text(thing: Any) -> str:
    return screen.short(msgspec.json.encode(thing).decode(), 2000)


def _differs(tally: Tally, step: Step) -> int:
    click.echo(f"{tally}; event {tally.events} differs:")
    click.echo(f"  event:    {_text(step.event)}")
    click.echo("  recorded: other decisions (the journal keeps only their check number)")
    decisions = [f"  replayed: {_text(decision)}" for decision in step.decisions]
    for line in decisions or ["  replayed: no decision"]:
        click.echo(line)
    return int(Exit.SOME_FAILED)
