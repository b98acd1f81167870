"""`tailrace explain`: why a bag, a task or a host is as it is."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import click

from tailrace.cli import naming, screen
from tailrace.cli.choosing import choose
from tailrace.cli.hints import hint
from tailrace.cli.logs import ending
from tailrace.cli.stored import Stored, stored
from tailrace.errors import BadInput
from tailrace.report import words
from tailrace.server import reading
from tailrace.server.bills import Shares
from tailrace.server.reading import AttemptFacts, HostWork


@click.command(
    epilog="Examples: `tailrace explain` · `tailrace explain 2` (a bag) · "
    "`tailrace explain 2/17` · `tailrace explain alpha=0.1,seed=3` · `tailrace explain HOST`"
)
@click.argument("subject", required=False)
@click.option("--bag", help="Number or name; then SUBJECT is a task of it.")
def command(subject: str | None, bag: str | None) -> int:
    """Say why a bag, a task or a host is as it is.

    SUBJECT is a bag, a task (17, alpha=0.1,seed=3 or BAG/TASK; of the newest bag), or a host; a
    number is a bag's if there is one. Default: the newest bag.
    """
    with stored() as here:
        for line in _explained(here, subject_of(here, subject, bag)):
            click.echo(screen.plain(line))
        if subject is not None and bag is None and naming.is_bag(here.link, subject):
            _tell_of_task(here, subject)
    return 0


def _tell_of_task(here: Stored, number: str) -> None:
    if task := naming.also_task(here.link, number):
        click.echo(f"(task {number}: `{hint(f'explain {task}')}`)")


def subject_of(here: Stored, text: str | None, bag: str | None) -> str:
    """In the scheduler's words: `bag 3`, `task 3/17`, `host NAME`."""
    link = here.link
    if text is None or (bag is None and naming.is_bag(link, text)):
        return f"bag {choose(link, text if text is not None else bag).bag}"
    if bag is None and any(host.row.host == text for host in reading.hosts(link)):
        return f"host {text}"
    try:
        facts, index = naming.task(link, text, bag)
    except BadInput as error:
        known = ", ".join(host.row.host for host in reading.hosts(link)[:5]) or "none"
        remedy = f"As a task: {error.message} ({error.remedy}). Hosts are: {known}."
        raise BadInput(f"{text!r} is no bag, task or host", remedy=remedy) from None
    return f"task {facts.bag}/{index}"


def _explained(here: Stored, subject: str) -> Iterator[str]:
    if here.server is None:
        yield "Nothing runs now; this is how the store was left."
    yield from _asked(here, subject)
    kind, _, name = subject.partition(" ")
    if kind == "host":
        yield _work_of(here, name)
    if kind == "task":
        bag, _, index = name.partition("/")
        yield from _attempts(here, int(bag), int(index))


def _asked(here: Stored, subject: str) -> list[str]:
    if here.server is None:
        return _from_tables(here, subject)
    from tailrace.cli.calling import call

    path = f"/api/v1/explain?subject={quote(subject)}"
    lines: list[str] = call(here.server, "GET", path, kind=list[str])
    return lines


def _work_of(here: Stored, host: str) -> str:
    """From the attempts: the scheduler keeps what is out and what is booked, not what was."""
    work = reading.host_work(here.link).get(host, HostWork())
    return f"Attempts sent to it so far: {work.attempts:,}, of which {work.succeeded:,} succeeded."


def _from_tables(here: Stored, subject: str) -> list[str]:
    from tailrace.scheduler.brain import Scheduler
    from tailrace.server.clock import Clock
    from tailrace.server.restored import restored

    now = Clock().now()
    scheduler = Scheduler()
    scheduler.restore(restored(here.link), now)
    return scheduler.explain(subject, now)


def _attempts(here: Stored, bag: int, index: int) -> Iterator[str]:
    shares = Shares(here.link, bag, here.now_us or reading.last_moment(here.link, bag))
    for attempt in reading.attempts(here.link, bag, index):
        yield f"Attempt {attempt.attempt} {_told(attempt, here.served)}{_cost(shares, attempt)}."


def _told(attempt: AttemptFacts, served: bool) -> str:
    sent = words.moment(attempt.sent_us)[:19]
    return f"was sent to {attempt.host} at {sent} ({attempt.why}): {ending(attempt, served=served)}"


def _cost(shares: Shares, attempt: AttemptFacts) -> str:
    cost = shares.of(attempt.lease, attempt.result.run_us if attempt.result else None)
    return "".join(f"; cost {amount:.4g} {currency}" for currency, amount in cost.items())
