"""`tailrace gc`: files of bags that ended long ago go from the server."""

from __future__ import annotations

import time

import click

from tailrace.cli import place
from tailrace.cli.calling import call
from tailrace.cli.reached import named, server_option
from tailrace.errors import BadInput
from tailrace.quantities import duration_us, show_size
from tailrace.report.words import count
from tailrace.server import lock, reading
from tailrace.server.blobs import Blobs
from tailrace.server.collecting import Collected, collect
from tailrace.server.lock import Owner

KEEP = "30d"


@click.command(epilog="Examples: `tailrace gc` · `tailrace gc --keep 7d`")
@click.option("--keep", default=KEEP, metavar="TIME", help=f"After a bag's end; default {KEEP}.")
@server_option
def command(keep: str, server: str | None) -> int:
    """Remove files that travelled for bags which have ended, once TIME has passed since.

    Results stay, and so do outputs in the server's folder; inputs, and outputs for `tailrace
    fetch`, go. Files that were sent for a bag that was then not handed in go after TIME, too.
    Whatever is under way stays. For admins.
    """
    keep_us = duration_us(keep)
    if keep_us < 0:
        raise BadInput(f"--keep {keep} is negative", remedy="Give a time such as 7d, or 0s.")
    found = _collected(named(server) or lock.alive(place.nearest()), keep_us // 1_000_000)
    click.echo(
        f"{count(found.blobs, 'blob')} removed, {show_size(found.bytes)}; "
        f"{count(found.bags, 'bag')} past {keep}"
    )
    return 0


def _collected(owner: Owner | None, keep_s: int) -> Collected:
    if owner is not None:
        found: Collected = call(owner, "POST", "/api/v1/gc", {"keep_s": keep_s}, Collected)
        return found
    folder = place.nearest()
    link = reading.open_store(folder)
    try:
        ended = reading.ended_before(link, time.time_ns() // 1000 - keep_s * 1_000_000)
        newest = max((number for number, *_ in link.execute("SELECT bag FROM bags")), default=0)
    finally:
        link.close()
    return collect(Blobs(folder / "blobs"), ended, newest + 1, keep_s)
