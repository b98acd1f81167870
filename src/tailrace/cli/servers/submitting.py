"""A bag on its way to a server."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from tailrace.bag.bag import Bag
from tailrace.bag.identity import programs
from tailrace.cli import hints, place
from tailrace.cli.bags import secrets
from tailrace.cli.bags.taking import taken_from
from tailrace.cli.hints import hint
from tailrace.cli.screen import plain
from tailrace.cli.servers.handing import patiently
from tailrace.cli.servers.past import There
from tailrace.cli.servers.reached import although_near, named, passed_by
from tailrace.cli.servers.sending import Sent, send
from tailrace.cli.servers.waiting import to_the_terminal
from tailrace.errors import BadInput
from tailrace.quantities import show_size
from tailrace.report.words import count
from tailrace.server.submission import MOST_BODY, Submission, Submitted, Taking
from tailrace.server.tables import lock
from tailrace.server.tables.lock import Owner


def server(flag: str | None) -> Owner:
    """Named, in the nearest folder, or logged in to; in this order."""
    owner = named(flag) or _near() or although_near()
    if owner is None:
        raise BadInput(
            "no server is named, and none runs in a folder `.tailrace` here or above",
            remedy="Name one with --server, keep one with `tailrace login`, start one with "
            "`tailrace serve --local`; or `tailrace run` the bag on this machine.",
        )
    return owner


def _near() -> Owner | None:
    try:
        return lock.alive(place.nearest())
    except BadInput:
        return None


def submit(owner: Owner, bag: Bag, options: dict[str, Any]) -> tuple[Submitted, Sent | None]:
    """With its files, where they are declared; without what the server has results of."""
    _refuse_large(bag)
    hidden, sent = secrets.found(bag.spec), None
    if bag.spec.files == "staged":
        spec, sent = send(owner, bag)
        bag = Bag(spec, bag.read_chunk)
    made_of, taking = programs(bag), None
    if not options.get("again"):
        told = taken_from(There(owner), bag, made_of, options, to_the_terminal)
        taking = told.taking if told else None
    return patiently(owner, submission(bag, hidden, made_of, taking)), sent


def submission(
    bag: Bag, hidden: dict[str, str], made_of: dict[str, str], taking: Taking | None
) -> Submission:
    _refuse_large(bag)
    return Submission(bag.spec, list(bag.encode()[1]), hidden, made_of, taking)


def _refuse_large(bag: Bag) -> None:
    size = sum(len(chunk) for chunk in bag.encode()[1]) * 4 // 3
    if size > MOST_BODY:
        raise BadInput(
            f"the bag lists {bag.count:,} tasks in {size // 2**20:,} MiB, more than a server takes",
            remedy="Sweep over a range instead of a list, or hand it in in parts.",
        )


def tell(
    submitted: Submitted, owner: Owner, sent: Sent | None, *, quiet: bool, as_json: bool
) -> None:
    number = submitted.bag
    if as_json:
        click.echo(msgspec.json.encode(submitted).decode())
    elif quiet:
        click.echo(number)
    if quiet or as_json:
        _note_elsewhere(submitted, owner)
    else:
        tasks = count(submitted.count, "task")
        click.echo(f"bag {number} ({plain(submitted.name)}), {tasks}, is with {owner.address}")
        if sent is not None:
            files = f"{count(sent.files, 'file')}, {show_size(sent.bytes)}"
            click.echo(f"  took along: {files}; sent {show_size(sent.sent)}")
        click.echo(f"  follow:  {hint(f'watch {number}')}")
        click.echo(f"  results: {hint(f'results {number}')}")
        if sent is not None and not owner.pid:  # else they come to their targets by themselves
            click.echo(f"  outputs: {hint(f'fetch {number}')}")


def _note_elsewhere(submitted: Submitted, owner: Owner) -> None:
    """A script has the number alone, by which commands in this folder would find another bag."""
    if passed_by():
        text = f"bag {submitted.bag} is with {owner.address}, and not in the folder of runs that "
        needs = f"is nearest: its commands need `{hints.more.strip()}`"
        click.echo(f"tailrace: {text}{needs}", err=True)
