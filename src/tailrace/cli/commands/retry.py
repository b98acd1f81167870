"""`tailrace retry`: failed tasks are tried again."""

from __future__ import annotations

import click

from tailrace.bag.outcome import Outcome
from tailrace.cli import screen
from tailrace.cli.bags import naming
from tailrace.cli.bags.choosing import choose
from tailrace.cli.hints import hint
from tailrace.cli.servers.reached import reached, server_option
from tailrace.errors import BadInput
from tailrace.report import words
from tailrace.scheduler.events import Change
from tailrace.server.protocol import WorkResult
from tailrace.server.records.reader import Reader
from tailrace.server.records.reading import BagFacts


@click.command(
    epilog="Examples: `tailrace retry` · `tailrace retry 2` · `tailrace retry --match 'disk full'` "
    "· `tailrace retry 2 17 alpha=0.1,seed=3`"
)
@click.argument("words_", nargs=-1, metavar="[BAG] [TASK]...")
@click.option("--bag", help="Number or name; then all words are tasks.")
@click.option("--match", metavar="TEXT", help="Only tasks whose error or stderr holds TEXT.")
@server_option
def command(words_: tuple[str, ...], bag: str | None, match: str | None, server: str | None) -> int:
    """Try failed tasks again: all, those that said TEXT, or those named.

    The first word is the BAG if there is one of that number or name; default: the newest. Further
    words are tasks, by number or by values. A server that runs takes them at once; otherwise
    `tailrace resume` does.
    """
    with reached(server) as here:
        facts, tasks = _named(here, words_, bag)
        chosen = _failed(here, facts, tasks, match)
        other = _meant_as_task(here, words_, bag, facts, chosen)
        if not chosen:
            click.echo(f"Bag {facts.bag} ({screen.plain(facts.name)}) has no failed task.{other}")
            return 0
        taken = here.change(facts.bag, Change.RETRY, tuple(chosen))
    what = f"{words.count(len(chosen), 'task')} of bag {facts.bag} will be tried again"
    if taken:
        follow = hint(f"watch {facts.bag}")
        click.echo(f"{what} by the server that runs; `{follow}` follows it.{other}")
    else:
        click.echo(f"{what}. Nothing runs now: `{hint(f'resume {facts.bag}')}` does it.{other}")
    return 0


def _meant_as_task(
    here: Reader, given: tuple[str, ...], bag: str | None, facts: BagFacts, chosen: list[int]
) -> str:
    """One number names the bag; told where a failed task of that number is not among those."""
    if bag is not None or len(given) != 1 or not naming.is_bag(here, given[0]):
        return ""
    task = naming.also_task(here, given[0])
    if task is None:
        return ""
    owner, index = map(int, task.split("/"))
    failed = [one.task for one in here.failed(owner)]
    if index not in failed or (owner == facts.bag and index in chosen):
        return ""
    return f"\n(task {index}: `{hint(f'retry {task}')}`)"


def _named(
    here: Reader, given: tuple[str, ...], bag: str | None
) -> tuple[BagFacts, list[int] | None]:
    if bag is None and given and naming.is_bag(here, given[0]):
        bag, given = given[0], given[1:]
    if not given:
        return choose(here, bag), None
    found = [naming.task(here, text, bag) for text in given]
    if len({facts.bag for facts, _ in found}) > 1:
        raise BadInput("these tasks are of several bags", remedy="Retry one bag at a time.")
    return found[0][0], [index for _, index in found]


def _failed(here: Reader, facts: BagFacts, tasks: list[int] | None, match: str | None) -> list[int]:
    failed = {one.task: _said(one.outcome, one.told) for one in here.failed(facts.bag)}
    for index in tasks or ():
        if index not in failed:
            _refuse(facts, index)
    chosen = list(failed) if tasks is None else tasks
    if match is None:
        return chosen
    found = [index for index in chosen if match in failed[index]]
    if not found and chosen:
        _no_match(match, len(chosen), failed[chosen[0]])
    return found


def _said(outcome: Outcome, told: WorkResult | None) -> str:
    how = str(outcome).replace("_", " ")
    return f"{how}\n{told.error}\n{told.stderr}" if told else how


def _refuse(facts: BagFacts, index: int) -> None:
    raise BadInput(
        f"task {index} of bag {facts.bag} has not failed",
        remedy=f"`tailrace results {facts.bag} --failed` lists those that have.",
    )


def _no_match(match: str, count: int, example: str) -> None:
    last = screen.short(example.strip().rpartition("\n")[2], 200)
    raise BadInput(
        f"none of the {words.count(count, 'failed task')} says {match!r}",
        remedy=f"One says: {last}",
    )
