"""Outputs that are not at their targets when their bag has ended: waited for, or told of."""

from __future__ import annotations

import time

import click

from tailrace.cli import screen
from tailrace.cli.hints import hint
from tailrace.report import words
from tailrace.server.records.reader import Details, Reader

PATIENCE_S = 60.0  # for the server to move what was accepted last
LOOK_S = 0.2


def awaited(here: Reader, bag: int) -> Details:
    """When all are there, or it is known what is in the way, or nobody moves them any more."""
    until = time.monotonic() + PATIENCE_S
    while True:
        server, told = here.again().server, here.again().details(bag)
        if not told.unpublished or told.in_the_way or server is None or time.monotonic() > until:
            return told
        time.sleep(LOOK_S)


def lines(bag: int, told: Details, *, served: bool) -> list[str]:
    """While a server runs, what it has not tried in vain is on its way."""
    if not told.unpublished or (served and not told.in_the_way):
        return []
    tasks = ", ".join(map(str, told.unpublished[:5])) + ", …" * (len(told.unpublished) > 5)
    what = words.count(len(told.unpublished), "task")
    found = [f"outputs of {what} are not at their targets yet  [task {tasks}]"]
    found += [f"  {screen.short(' '.join(why.split()), 300)}" for why in told.in_the_way]
    resume = hint(f"resume {bag}")
    if served:
        return [*found, f"  the server tries again by itself; `{resume}`: at once"]
    return [*found, f"  `{resume}` moves them, or says what is in the way"]


def tell(bag: int, told: Details, *, served: bool) -> None:
    """For who has asked for silence, too: this is no success."""
    for text in lines(bag, told, served=served):
        click.echo(f"tailrace: {text}", err=True)
