"""`tailrace explain`: why a bag, a task or a host is as it is."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tailrace.cli import screen
from tailrace.cli.bags import naming
from tailrace.cli.bags.choosing import choose
from tailrace.cli.commands.hosts import speed as speed_of
from tailrace.cli.commands.logs import ending
from tailrace.cli.hints import hint
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import BadInput
from tailrace.policy.policies import texts
from tailrace.report import words
from tailrace.scheduler.rows import HostRow
from tailrace.server.records.attempts import AttemptFacts
from tailrace.server.records.reader import Reader
from tailrace.server.tables.hostwork import HostWork


@click.command(
    epilog="Examples: `tailrace explain` · `tailrace explain 2` (a bag) · "
    "`tailrace explain 2/17` · `tailrace explain alpha=0.1,seed=3` · `tailrace explain HOST`"
)
@click.argument("subject", required=False)
@click.option("--bag", help="Number or name; then SUBJECT is a task of it.")
@server_option
def command(subject: str | None, bag: str | None, server: str | None) -> int:
    """Say why a bag, a task or a host is as it is.

    SUBJECT is a bag, a task (17, alpha=0.1,seed=3 or BAG/TASK; of the newest bag), or a host; a
    number is a bag's if there is one. Default: the newest bag.
    """
    with reached(server) as here:
        for line in _explained(here, subject_of(here, subject, bag)):
            click.echo(screen.plain(line))
        if subject is not None and bag is None and naming.is_bag(here, subject):
            _tell_of_task(here, subject)
    return 0


def _tell_of_task(here: Reader, number: str) -> None:
    if task := naming.also_task(here, number):
        click.echo(f"(task {number}: `{hint(f'explain {task}')}`)")


def subject_of(here: Reader, text: str | None, bag: str | None) -> str:
    """In the scheduler's words: `bag 3`, `task 3/17`, `host NAME`."""
    if text is None or (bag is None and naming.is_bag(here, text)):
        return f"bag {choose(here, text if text is not None else bag).bag}"
    if bag is None and any(one.host.row.host == text for one in here.hosts()):
        return f"host {text}"
    try:
        facts, index = naming.task(here, text, bag)
    except BadInput as error:
        known = ", ".join(one.host.row.host for one in here.hosts()[:5]) or "none"
        remedy = f"As a task: {error.message} ({error.remedy}). Hosts are: {known}."
        raise BadInput(f"{text!r} is no bag, task or host", remedy=remedy) from None
    return f"task {facts.bag}/{index}"


def _explained(here: Reader, subject: str) -> Iterator[str]:
    if here.server is None:
        yield "Nothing runs now; this is how the store was left."
    yield from here.explain(subject)
    kind, _, name = subject.partition(" ")
    if kind == "host":
        yield from _of_host(here, name)
    if kind == "task":
        bag, _, index = name.partition("/")
        yield from _attempts(here, int(bag), int(index))


def _of_host(here: Reader, name: str) -> Iterator[str]:
    """Attempts are counted: the scheduler keeps what is out and what is booked, not what was."""
    for one in here.hosts():
        if one.host.row.host == name:
            yield from _machine(one.host.row)
            yield _work(one.work)
            return
    yield _work(HostWork())


def _work(work: HostWork) -> str:
    return f"Attempts sent to it so far: {work.attempts:,}, of which {work.succeeded:,} succeeded."


def _machine(row: HostRow) -> Iterator[str]:
    """As far as its worker has told."""
    speed = "not measured yet" if (shown := speed_of(row)) == "?" else shown
    facts = {"owner": row.owner, "processor": row.cpu, "speed beside the reference": speed}
    yield f"Its {'; its '.join(f'{what}: {told}' for what, told in facts.items() if told)}."
    for what, text in texts(row.says).items() if row.says else ():
        yield f"Its owner says {what}: {' '.join(text.split())}"


def _attempts(here: Reader, bag: int, index: int) -> Iterator[str]:
    told, served = here.task(bag, index), here.server is not None
    for attempt, cost in zip(told.attempts, told.costs, strict=True):
        yield f"Attempt {attempt.ordinal} {_told(attempt, served)}{_cost(cost)}."


def _told(attempt: AttemptFacts, served: bool) -> str:
    sent = words.moment(attempt.sent_us)[:19]
    return f"was sent to {attempt.host} at {sent} ({attempt.why}): {ending(attempt, served=served)}"


def _cost(cost: dict[str, float]) -> str:
    return "".join(f"; cost {amount:.4g} {currency}" for currency, amount in cost.items())
