"""A bag on its way to a server."""

from __future__ import annotations

import click
import msgspec

from tailrace.bag.bag import Bag
from tailrace.cli import place
from tailrace.cli.bags import secrets
from tailrace.cli.hints import hint
from tailrace.cli.screen import plain
from tailrace.cli.servers.handing import HandIn, patiently
from tailrace.cli.servers.reached import logged_in, named
from tailrace.cli.servers.sending import Sent, send
from tailrace.errors import BadInput
from tailrace.quantities import show_size
from tailrace.report.words import count
from tailrace.server.submission import MOST_BODY, Submission, Submitted
from tailrace.server.tables import lock
from tailrace.server.tables.lock import Owner


def server(flag: str | None) -> Owner:
    """Named, in the nearest folder, or logged in to; in this order."""
    owner = named(flag) or _near() or logged_in()
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


def submit(
    owner: Owner, bag: Bag, *, travel: bool = True, hand_in: HandIn = patiently
) -> tuple[Submitted, Sent | None]:
    """With its files, where they are declared; without `travel` machines find them where they
    lie."""
    _, chunks = bag.encode()
    hidden = secrets.found(bag.spec)
    spec, sent = bag.spec, None
    if spec.files == "staged" and travel:
        spec, sent = send(owner, bag)
    body = Submission(spec, list(chunks), hidden)
    size = sum(len(chunk) for chunk in body.chunks) * 4 // 3
    if size > MOST_BODY:
        raise BadInput(
            f"the bag lists {bag.count:,} tasks in {size // 2**20:,} MiB, more than a server takes",
            remedy="Sweep over a range instead of a list, or hand it in in parts.",
        )
    return hand_in(owner, body), sent


def tell(
    submitted: Submitted, owner: Owner, sent: Sent | None, *, quiet: bool, as_json: bool
) -> None:
    number = submitted.bag
    if as_json:
        click.echo(msgspec.json.encode(submitted).decode())
    elif quiet:
        click.echo(number)
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
