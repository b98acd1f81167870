"""`tailrace logs`: what a task wrote, attempt by attempt."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from tailrace.cli import screen
from tailrace.cli.bags import naming
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import BadInput
from tailrace.report import words
from tailrace.server.protocol import WorkResult
from tailrace.server.records import attempts
from tailrace.server.records.attempts import AttemptFacts
from tailrace.server.records.reader import Reader, TaskFacts


@click.command(
    epilog="Examples: `tailrace logs 17` · `tailrace logs alpha=0.1,seed=3` · "
    "`tailrace logs 2/17 --stderr | less`"
)
@click.argument("task")
@click.option("--bag", help="Number or name; default: the newest.")
@click.option("--attempt", type=int, help="Only this one of its attempts: 1 is the first.")
@click.option("--stdout", "stream", flag_value="stdout", help="Only its stdout, as it was kept.")
@click.option("--stderr", "stream", flag_value="stderr", help="Only its stderr, as it was kept.")
@server_option
def command(
    task: str, bag: str | None, attempt: int | None, stream: str | None, server: str | None
) -> int:
    """Print what TASK wrote: when and where each attempt ran, why it was sent, how it ended.

    TASK is a number, values such as alpha=0.1,seed=3, or BAG/TASK. With --stdout or --stderr it is
    the accepted attempt's, or the last one's, unless --attempt names another.
    """
    with reached(server) as here:
        facts, index = naming.task(here, task, bag)
        told = here.task(facts.bag, index)
        found = _chosen(told.attempts, attempt, index)
        if stream is not None:
            _print_stream(found, stream)
        else:
            _print_all(here, f"{facts.bag}/{index}", told, found)
    return 0


def _chosen(found: list[AttemptFacts], number: int | None, index: int) -> list[AttemptFacts]:
    if number is None:
        return found
    chosen = attempts.chosen(found, number)
    if not chosen:
        known = ", ".join(str(attempt.ordinal) for attempt in found) or "none"
        message = f"task {index} has no attempt {number}"
        raise BadInput(message, remedy=f"Its attempts are: {known}.")
    return chosen


def _print_stream(found: list[AttemptFacts], stream: str) -> None:
    """Raw into a pipe; on a terminal a task's escapes are not obeyed."""
    best = [a for a in found if a.accepted] or [a for a in found if a.result] or found
    result = best[-1].result if best else None
    text = getattr(result, stream) if result else ""
    tidy = screen.plain_lines(text) if sys.stdout.isatty() else text
    screen.utf8_out().write(tidy)


def _print_all(here: Reader, name: str, task: TaskFacts, found: list[AttemptFacts]) -> None:
    click.echo(f"task {name}: {screen.short(task.text, 1000)}")
    if not found:
        click.echo("It was not sent yet.")
    for attempt in found:
        click.echo()
        for line in _told(attempt, served=here.server is not None):
            click.echo(line)


def _told(attempt: AttemptFacts, *, served: bool) -> Iterator[str]:
    sent = words.moment(attempt.sent_us)
    yield f"attempt {attempt.ordinal}, sent {sent} to {attempt.host}"
    yield f"  why: {screen.plain(attempt.why)}"
    yield f"  {ending(attempt, served=served)}"
    if attempt.result is not None:
        yield from _stream("stdout", attempt.result.stdout, attempt.result.stdout_bytes)
        yield from _stream("stderr", attempt.result.stderr, attempt.result.stderr_bytes)


def ending(attempt: AttemptFacts, *, served: bool) -> str:
    """How it ended, in a few words."""
    if attempt.outcome is None:
        return "has not ended" if served else "had not ended when its server did"
    parts = [str(attempt.outcome).replace("_", " ")]
    result = attempt.result
    if result is not None:
        parts += _details(result)
    elif attempt.ended_us is not None:
        parts.append(f"after {words.duration(attempt.ended_us - attempt.sent_us)}")
    if attempt.accepted:
        parts.append("accepted")
    return ", ".join(parts)


def _details(result: WorkResult) -> list[str]:
    parts = [] if result.exit is None else [f"exit {result.exit}"]
    parts.append(f"ran {words.duration(result.run_us)}")
    if result.memory:
        from tailrace.quantities import show_size

        parts.append(show_size(result.memory))
    return [*parts, screen.short(result.error, 400)] if result.error else parts


def _stream(name: str, text: str, size: int) -> Iterator[str]:
    if not text:
        yield f"  {name}: nothing"
        return
    yield f"  {name}, {words.count(size, 'byte')}:"
    yield from (f"    {line}" for line in screen.plain_lines(text).rstrip("\n").split("\n"))
