"""`tailrace pools`: where machines come from, whether they come, and those nobody knows of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from tailrace.cli import place, screen, settings
from tailrace.errors import BadInput, Exit, TailraceError
from tailrace.quantities import show_duration
from tailrace.report import poolwork
from tailrace.report.poolwork import PoolWork
from tailrace.server.pools.command_pool import AnyPool, CommandPool
from tailrace.server.records.bills import price
from tailrace.server.records.poolfacts import Known, Orphan

HEAD = ("pool", "driver", "machines", "standing", "price", "lease", "reliable", "trouble")
NUMBERS = ("machines", "standing")
ORPHANS = ("pool", "machine", "whose")


@click.group(
    invoke_without_command=True,
    epilog="Examples: `tailrace pools` · `tailrace pools check cluster` · "
    "`tailrace pools --orphans --stop`",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--orphans", is_flag=True, help="Machines that stand, and that no lease knows.")
@click.option("--stop", is_flag=True, help="With --orphans: stop those that were ours.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, orphans: bool, stop: bool) -> int:
    """Show the pools there are, and the machines that stand.

    Below them is what came of the machines, of late: the most at once, how long after they were
    wanted they had their first task, and how many cores that do nothing else would have done as
    much.

    Pools are described in `pools.toml`. `check NAME` starts one worker in a pool, runs one task
    there, and says at each step what is wrong.
    """
    if stop and not orphans:
        raise BadInput("--stop without --orphans", remedy="Add --orphans: they are stopped.")
    if ctx.invoked_subcommand is not None:
        return 0
    pools, known = settings.pools(settings.load({}, Path.cwd())), Known(_runs())
    if orphans:
        return _orphans([one for one in pools if isinstance(one, CommandPool)], known, stop)
    told = [_told(pool, known) for pool in pools]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        screen.print_table(screen.table(HEAD, [_row(one) for one in told], NUMBERS))
        _print_work([one["work"] for one in told if one["work"] is not None])
    return 0


def _print_work(work: list[PoolWork]) -> None:
    """What came of them, where anything did."""
    if work:
        click.echo()
        screen.print_table(screen.table(poolwork.HEAD, map(poolwork.cells, work), poolwork.NUMBERS))


def _runs() -> Path:
    """The nearest that are there, or those that would be made here."""
    try:
        return place.nearest()
    except BadInput:
        return place.for_run(Path.cwd())


def _told(pool: AnyPool, known: Known) -> dict[str, Any]:
    terms, leases = pool.terms, known.of(pool.terms.name)
    return {
        "pool": terms.name, "driver": terms.driver, "machines": terms.max,
        "standing": leases.standing, "price": price(terms.billing), "lease_us": terms.lease_us,
        "reliable": terms.reliable, "trouble": leases.trouble,
        "work": known.work.get(terms.name),
    }  # fmt: skip


def _row(told: dict[str, Any]) -> tuple[object, ...]:
    lease, reliable = show_duration(told["lease_us"]), "yes" if told["reliable"] else "no"
    shown = {**told, "lease": lease, "reliable": reliable, "trouble": told["trouble"] or "none"}
    return tuple(shown[name] for name in HEAD)


def _orphans(pools: list[CommandPool], known: Known, stop: bool) -> int:
    """A pool that does not answer keeps none of the others from being looked at."""
    found: list[tuple[CommandPool, Orphan]] = []
    code = Exit.OK
    for pool in pools:
        try:
            found += [(pool, orphan) for orphan in known.orphans(pool)]
        except TailraceError as error:
            code = Exit.SERVER
            click.echo(f"tailrace: pool {pool.terms.name}: {error}", err=True)
    if not found and code is Exit.OK:
        click.echo("Every machine that stands is known to a lease.")
    elif found:
        rows = [(one.pool, one.name, _whose(one)) for _, one in found]
        screen.print_table(screen.table(ORPHANS, rows))
    for pool, orphan in found if stop else []:
        code = max(code, _stop(pool, known, orphan))
    return int(code)


def _whose(orphan: Orphan) -> str:
    return "another folder's" if orphan.lease is None else f"ours: lease {orphan.lease} is over"


def _stop(pool: CommandPool, known: Known, orphan: Orphan) -> Exit:
    if orphan.lease is None:
        return Exit.OK
    try:
        known.stop(pool, orphan)
    except TailraceError as error:
        click.echo(f"tailrace: {error}", err=True)
        return Exit.SERVER
    click.echo(f"{orphan.name} is told to end.")
    return Exit.OK


@command.command("check", epilog="Example: `tailrace pools check cluster --within 10m`")
@click.argument("name")
@click.option("--within", default="2m", show_default=True, metavar="TIME",
              help="So long a machine may take until it calls.")  # fmt: skip
@click.option("--address", default="127.0.0.1", metavar="A",
              help="Where to listen for it; any but loopback speaks TLS.")  # fmt: skip
@click.option("--port", type=int, default=0, metavar="P", help="0: any free.")
def check(name: str, within: str, address: str, port: int) -> int:
    """Start one worker in the pool NAME, run one task, and say what is wrong at each step."""
    from tailrace.cli.pools.checking import check_pool

    found = {pool.terms.name: pool for pool in settings.pools(settings.load({}, Path.cwd()))}
    if name not in found:
        remedy = f"The pools are {', '.join(found)}; pools.toml describes more."
        raise BadInput(f"there is no pool {name!r}", remedy=remedy)
    return check_pool(found[name], within, address, port)
