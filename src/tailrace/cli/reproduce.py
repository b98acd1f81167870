"""`tailrace reproduce`: one task, here and now, as a worker would run it."""

from __future__ import annotations

import sys

import click

from tailrace.bag.bag import Bag
from tailrace.cli import naming, screen
from tailrace.cli.logs import ending
from tailrace.cli.stored import Stored, stored
from tailrace.quantities import show_duration, show_size
from tailrace.server import reading
from tailrace.server.reading import AttemptFacts


@click.command(
    epilog="Examples: `tailrace reproduce 17` · `tailrace reproduce alpha=0.1,seed=3 --bag sweep`"
)
@click.argument("task")
@click.option("--bag", help="Number or name; default: the newest.")
def command(task: str, bag: str | None) -> int:
    """Run TASK here in the foreground: same command, files and environment as in the run.

    TASK is a number, values such as alpha=0.1,seed=3, or BAG/TASK. A task with staged files gets a
    fresh folder, which is kept and named at the end. Nothing is recorded; the exit code is the
    task's. Its output is its own; what tailrace says goes to stderr.
    """
    from tailrace.cli.foreground import Foreground

    with stored() as here:
        facts, index = naming.task(here.link, task, bag)
        content = reading.content(here.link, facts.bag)
        last = _decisive(here, facts.bag, index)
        # Commands and rows of a CSV are read from the store only now.
        say(f"task {facts.bag}/{index}: {screen.short(content.task(index).text(), 1000)}")
        run = Foreground(content, facts.bag, index, last.attempt if last else 0)
    say(f"in {run.folder}")
    _tell_limits(content)
    code = run.run()
    _tell_end(run.ended, run.notes, last)
    return code


def say(text: str) -> None:
    click.echo(f"tailrace: {text}", err=True)
    sys.stderr.flush()


def _decisive(here: Stored, bag: int, index: int) -> AttemptFacts | None:
    """The attempt whose result counts, or else the last."""
    found = list(reading.attempts(here.link, bag, index))
    best = [attempt for attempt in found if attempt.accepted] or found
    return best[-1] if best else None


def _tell_limits(content: Bag) -> None:
    limits, found = content.spec.limits, []
    if limits.time_us is not None:
        found.append(f"time {show_duration(limits.time_us)}")
    sizes = (("memory", limits.memory), ("disk", limits.disk))
    found += [f"{name} {show_size(size)}" for name, size in sizes if size is not None]
    if found:
        say(f"its limits are not enforced here: {', '.join(found)}")


def _tell_end(ended: str, notes: list[str], last: AttemptFacts | None) -> None:
    had = "nothing: it was not sent yet" if last is None else ending(last, served=False)
    for note in notes:
        say(note)
    say(f"here: {ended}; the run had: {had}")
