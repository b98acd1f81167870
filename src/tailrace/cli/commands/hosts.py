"""`tailrace hosts`: the machines that worked here."""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from tailrace.cli import screen
from tailrace.cli.servers.reached import reached, server_option
from tailrace.quantities import show_size
from tailrace.report import words
from tailrace.scheduler.rows import HostRow
from tailrace.server.records.reader import HostTold, Reader

HEAD = ("host", "name", "pool", "owner", "kind", "cpu", "speed", "cores", "memory", "attempts",
        "out", "booked", "state")  # fmt: skip
NUMBERS = ("speed", "cores", "memory", "attempts", "out", "booked")


@click.command(epilog="Examples: `tailrace hosts` · `tailrace explain HOST` says more of one")
@click.option("--json", "as_json", is_flag=True, help="As JSON; moments are microseconds.")
@server_option
def command(as_json: bool, server: str | None) -> int:
    """List the machines that worked here.

    `out` are attempts a host holds, `booked` failures laid to it rather than to a task. Users of a
    server are told of their own attempts, and not what is booked. `speed` is beside the reference
    machine; ? is one that was not measured yet. One that is idle has called lately, and could work.
    A worker that is ended says so, and is gone at once; when one falls silent, it takes the server
    a while to notice.
    """
    with reached(server) as here:
        found = here.hosts()
        if as_json:
            told = [_told(here, one) for one in found]
            click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
        elif not found:
            click.echo("No host has worked here yet.")
        else:
            screen.print_table(screen.table(HEAD, [_row(here, one) for one in found], NUMBERS))
    return 0


def _row(here: Reader, told: HostTold) -> tuple[object, ...]:
    host, work = told.host, told.work
    capacity = host.row.capacity
    return (
        host.row.host,
        host.about.get("name", ""),
        host.row.pool,
        host.row.owner,
        host.row.kind,
        host.row.cpu,
        speed(host.row),
        f"{capacity.get('cores', 0) / 1000:g}",
        show_size(capacity.get("memory", 0)),
        f"{work.attempts:,}",
        f"{work.live:,}" if here.server else "0",
        f"{host.row.booked:,}" if told.of_all else "",
        state(here, told),
    )


def speed(row: HostRow) -> str:
    """As its worker or its pool says, and as it measured itself."""
    return "?" if row.benchmark is None and row.speed == 1 else f"{row.felt_speed:.2f}"


def state(here: Reader, told: HostTold) -> str:
    host, work = told.host, told.work
    left = host.row.excluded_until_us - time.time_ns() // 1000
    if left > 0:
        return f"excluded for {words.duration(left)} more"
    if here.server and work.live:
        return "at work"
    if told.present:
        return "idle"
    return f"last noted {words.moment(host.last_seen_us)[:19]}"


def _told(here: Reader, told: HostTold) -> dict[str, Any]:
    host, work = told.host, told.work
    row: dict[str, Any] = msgspec.to_builtins(host.row)
    row.pop("type", None)
    return {
        **row,
        "booked": host.row.booked if told.of_all else None,
        "succeeded": work.succeeded,
        "about": host.about,
        "first_seen_us": host.first_seen_us,
        "last_seen_us": host.last_seen_us,
        "attempts": work.attempts,
        "live": work.live,
        "state": state(here, told),
    }
