"""A bag on its way to a server."""

from __future__ import annotations

import click
import msgspec

from tailrace.bag.bag import Bag
from tailrace.cli import place
from tailrace.cli.calling import call
from tailrace.cli.hints import hint
from tailrace.cli.reached import logged_in, named
from tailrace.cli.screen import plain
from tailrace.errors import BadInput
from tailrace.report.words import count
from tailrace.server import lock
from tailrace.server.lock import Owner
from tailrace.server.submission import MOST_BODY, Submission, Submitted


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


def submit(owner: Owner, bag: Bag) -> Submitted:
    _, chunks = bag.encode()
    body = Submission(bag.spec, list(chunks))
    size = sum(len(chunk) for chunk in body.chunks) * 4 // 3
    if size > MOST_BODY:
        raise BadInput(
            f"the bag lists {bag.count:,} tasks in {size // 2**20:,} MiB, more than a server takes",
            remedy="Sweep over a range instead of a list, or hand it in in parts.",
        )
    submitted: Submitted = call(owner, "POST", "/api/v1/bags", body, Submitted)
    return submitted


def tell(submitted: Submitted, owner: Owner, *, quiet: bool, as_json: bool) -> None:
    number = submitted.bag
    if as_json:
        click.echo(msgspec.json.encode(submitted).decode())
    elif quiet:
        click.echo(number)
    else:
        tasks = count(submitted.count, "task")
        click.echo(f"bag {number} ({plain(submitted.name)}), {tasks}, is with {owner.address}")
        click.echo(f"  follow:  {hint(f'watch {number}')}")
        click.echo(f"  results: {hint(f'results {number}')}")
