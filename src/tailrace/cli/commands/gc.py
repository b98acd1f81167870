"""`tailrace gc`: what bags that ended long ago have left on the server goes."""

from __future__ import annotations

import time

import click
from msgspec.structs import replace

from tailrace.cli import place, settings
from tailrace.cli.screen import plain
from tailrace.cli.servers.reached import named, server_option
from tailrace.cli.servers.waiting import insist
from tailrace.errors import BadInput
from tailrace.quantities import duration_us, show_duration, show_size
from tailrace.report.words import count
from tailrace.scheduler.events import BagForgotten
from tailrace.server.files import lastword
from tailrace.server.files.blobs import Blobs
from tailrace.server.files.collecting import Collected, collect
from tailrace.server.files.retention import Going, of_no_use, past
from tailrace.server.offline import Offline
from tailrace.server.people.sealed import Sealed
from tailrace.server.records import reading
from tailrace.server.tables import lock
from tailrace.server.tables.link import Link
from tailrace.server.tables.lock import Owner
from tailrace.server.tables.restored import restored

KEEP = "30d"


@click.command(epilog="Examples: `tailrace gc` · `tailrace gc --keep 7d` · `tailrace gc --dry-run`")
@click.option("--keep", default=KEEP, metavar="TIME", help=f"After a bag's end; default {KEEP}.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and remove nothing.")
@server_option
def command(keep: str, dry_run: bool, server: str | None) -> int:
    """Remove files that travelled for bags which have ended, once TIME has passed since.

    Results stay, and so do outputs in the server's folder; inputs, and outputs for `tailrace
    fetch`, go. Files that were sent for a bag that was then not handed in go after TIME, too.
    Bags past the setting `retention` go whole, with their results, and what of the journal is from
    before all bags that are left, and silent hosts that none of them knows. Whatever is under way
    stays. For admins.
    """
    keep_s = _seconds(keep)
    owner = named(server) or lock.alive(place.nearest())
    found = _collected(owner, keep_s, dry_run)
    goes = "would be removed" if dry_run else "removed"
    for one in found.removed:
        click.echo(_line(one, goes))
    click.echo(
        f"{count(found.blobs, 'blob')} {goes}, {show_size(found.bytes)}; "
        f"{count(found.bags, 'bag')} past {keep}"
    )
    if found.pages:
        click.echo(f"{count(found.pages, 'page')} of the journal {goes}")
    if found.hosts:
        click.echo(f"{count(found.hosts, 'host')} {goes}")
    return 0


def _seconds(text: str) -> int:
    try:
        return duration_us(text) // 1_000_000
    except ValueError as error:
        raise BadInput(f"--keep: {error}", remedy="Give a time such as 7d, or 0s.") from None


def _line(one: Going, goes: str) -> str:
    ago = show_duration(max(_now_us() - one.ended_us, 0))
    tasks = count(one.count, "task")
    return f"bag {one.bag} ({plain(one.name)}), {tasks}, {goes}: it ended {ago} ago"


def _collected(owner: Owner | None, keep_s: int, dry_run: bool) -> Collected:
    if owner is not None:
        asked = {"keep_s": keep_s, "dry_run": dry_run}
        told: Collected = insist(owner, "POST", "/api/v1/gc", asked, Collected)
        return told
    folder = place.nearest()
    link = reading.open_store(folder)
    try:
        retention = settings.load({}, folder.parent).retention
        found = past(link, retention, _now_us())
        going = _going(link, found) if dry_run else found
        ended = of_no_use(link, reading.ended_before(link, _now_us() - keep_s * 1_000_000))
        bags = [number for number, _ in reading.owned(link)]
    finally:
        link.close()
    pages = hosts = 0
    if retention.keep_us is not None and not dry_run:
        with Offline(place.nearest()) as store:
            going = _removed(store, going)
            pages, hosts = store.trim(_now_us() - retention.keep_us)
    if not dry_run:
        Sealed(folder).drop_strays(bags)
    gone, newest = {*ended, *(one.bag for one in going)}, max(bags, default=0)
    collected = collect(Blobs(folder / "blobs"), gone, newest + 1, keep_s, dry=dry_run)
    return replace(collected, removed=going, pages=pages, hosts=hosts)


def _going(link: Link, found: list[Going]) -> list[Going]:
    """Those that it would let go; it need not be restored where there are none."""
    if not found:
        return []
    bags = lastword.going(restored(link), [one.bag for one in found], _now_us())
    return [one for one in found if one.bag in bags]


def _removed(store: Offline, going: list[Going]) -> list[Going]:
    """Those that went: the scheduler has the last word."""
    if going:
        store.tell(*(BagForgotten(one.bag) for one in going))
    for bag in store.leaving():
        store.clear(bag)
    here = {number for number, _ in reading.owned(store.link)}
    return [one for one in going if one.bag not in here]


def _now_us() -> int:
    return time.time_ns() // 1000
