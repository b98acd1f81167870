"""Start an embedded server for a bag, show it, and say at the end what came of it."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from tailrace.bag.bag import Bag
from tailrace.bag.identity import programs, variables
from tailrace.bag.needs import fits, lacking
from tailrace.bag.policysaid import may_use
from tailrace.bag.spec import BagSpec
from tailrace.cli import place, settings
from tailrace.cli.bags import secrets
from tailrace.cli.bags.bagplace import bad
from tailrace.cli.bags.believing import try_here
from tailrace.cli.bags.shells import differing, listed
from tailrace.cli.bags.taking import gone_on_with, taken_over
from tailrace.cli.here.ending import Ending
from tailrace.cli.here.live import view_for
from tailrace.cli.here.running import run_to_rest
from tailrace.cli.here.terminals import STDERR, hush
from tailrace.cli.hints import hint
from tailrace.cli.pools.poolsfile import refuse_unknown
from tailrace.errors import BadInput, StoreBusy
from tailrace.pools.budget import paid_in, unbound
from tailrace.pools.terms import Billing
from tailrace.quantities import show_money
from tailrace.server.embedded import Embedded
from tailrace.server.files.environments import Environments
from tailrace.server.pools.command_pool import AnyPool
from tailrace.server.pools.local_pool import LocalPool

Pools = tuple[AnyPool, ...]
REPORT_AFTER_S = 10.0
OPTIONS: dict[str, Any] = {"quiet": False, "as_json": False}  # of a plain run


def prepare(bag: Bag, options: dict[str, Any]) -> settings.Settings:
    """Everything that can be found wrong before a start."""
    bag_file = Path(bag.spec.source) if bag.spec.syntax == "braces" else None
    loaded = settings.load(_flags(options), Path(bag.spec.folder), bag_file)
    refuse_impossible(bag, loaded)
    try_here(bag)
    return loaded


def start(bag: Bag, options: dict[str, Any]) -> int:
    loaded = prepare(bag, options)
    hidden = secrets.taken(bag.spec)
    folder = place.for_run(Path(bag.spec.folder))
    pools = settings.pools(loaded)
    say = _sayer(options["quiet"])
    _note_unbound(bag, pools, say)
    made_of = programs(bag) | variables(bag, os.environ)
    again = options.get("again", False)
    taken = None if again else taken_over(folder, bag, made_of, options, _sayer(False))
    closing = gone_on_with(folder, bag)
    return drive(
        folder, loaded, pools, options,
        lambda server: server.submit(bag, made_of, taken, hidden, closing),
    )  # fmt: skip


def _note_unbound(bag: Bag, pools: Pools, say: Callable[[str], None]) -> None:
    """A budget where nothing has a price holds back nothing. One in a unit that nothing is paid in
    is refused before."""
    if paid_in(_billings(bag, pools)):
        return
    described = not isinstance(pools[0], LocalPool) or pools[0].rehearsal is not None
    where = "`tailrace config`" if described else "--price '0.10 {}/h'"
    for unit, micros in bag.spec.budget.items():
        told = f"this machine costs nothing, so that the budget of {show_money(unit, micros)}"
        say(f"{told} does not bind; see {where.format(unit)}")


def _billings(bag: Bag, pools: Pools) -> list[Billing]:
    return [pool.terms.billing for pool in pools if _admits(bag, pool.terms.name)]


def _refuse_unbound(bag: Bag, pools: Pools) -> None:
    found = unbound(bag.spec.budget, _billings(bag, pools))
    if found is not None:
        wrong = bad(bag.spec, ("budget",), found.message, f"Give the budget in {found.paid_in}.")
        if wrong.line is None:
            wrong.file, wrong.flag = None, "--budget"
        raise wrong


def resume(folder: Path, number: int, options: dict[str, Any]) -> int:
    spec, submitted_us = _submitted(folder, number)
    _refuse_moved(spec, number, folder.parent)
    _tell_other_shell(folder, number, spec.secrets)
    bag_file, hidden = _file_of(spec), secrets.taken_again(spec, folder, number)
    loaded = settings.load(_flags(options), folder.parent, bag_file)
    if loaded.origin("cores") == settings.DEFAULT:
        loaded = replace(loaded, cores=_cores_before(folder, number))
    pools = settings.pools(loaded, lambda pool: _agreed(folder, number, pool, submitted_us))

    def begin(server: Embedded) -> int:
        server.resume(number, hidden)
        return number

    return drive(folder, loaded, pools, options, begin)


def _tell_other_shell(folder: Path, number: int, hidden: tuple[str, ...]) -> None:
    """Also when quiet: tasks of one bag would not be alike. Secrets are never kept there."""
    kept = _environment_before(folder, number)
    here = {name: value for name, value in os.environ.items() if name not in hidden}
    names = [] if kept is None else differing(kept, here)
    if names:
        click.echo(f"tailrace: this shell differs from the run's in {listed(names)}", err=True)


def _environment_before(folder: Path, number: int) -> dict[str, str] | None:
    """Of the newest machine that worked for the bag."""
    from tailrace.server.records import reading
    from tailrace.server.records.bills import leases

    link = reading.open_store(folder)
    try:
        found = [row.lease for row in leases(link, number) if row.pool == settings.LOCAL]
    finally:
        link.close()
    return Environments(folder).of(found[-1]) if found else None


def _refuse_moved(spec: BagSpec, number: int, here: Path) -> None:
    """Every task would fail there, one after the other."""
    if not Path(spec.folder).is_dir():
        link = shlex.join(["ln", "-s", str(here), spec.folder])
        raise BadInput(
            f"bag {number} runs in {spec.folder}, which is not there any more",
            remedy=f"Bring it back. If it was only moved here, a link will do: `{link}`",
        )


def _submitted(folder: Path, number: int) -> tuple[BagSpec, int]:
    """As it was handed in, and when."""
    from tailrace.server.records import reading

    link = reading.open_store(folder)
    try:
        return reading.content(link, number).spec, reading.bag_row(link, number).submitted_us
    finally:
        link.close()


def _file_of(spec: BagSpec) -> Path | None:
    """Whose [settings] the bag was run with, if it is still there."""
    file = Path(spec.folder, Path(spec.source).name)
    return file if spec.syntax == "braces" and file.is_file() else None


def _cores_before(folder: Path, number: int) -> float | None:
    """So many of this machine's as it was run with last; None: all."""
    from tailrace.server.records import reading

    link = reading.open_store(folder)
    try:
        return reading.cores_of(link, number, settings.LOCAL)
    finally:
        link.close()


def _agreed(folder: Path, number: int, pool: str, submitted_us: int) -> Billing | None:
    from tailrace.server.records import bills, reading

    link = reading.open_store(folder)
    try:
        return bills.agreed(link, number, pool, submitted_us)
    finally:
        link.close()


def _flags(options: dict[str, Any]) -> dict[str, Any]:
    """Those options that are settings."""
    return {name: options.get(name) for name in ("cores", "memory", "price", "port", "report")}


def drive(
    folder: Path,
    loaded: settings.Settings,
    pools: Pools,
    options: dict[str, Any],
    begin: Callable[[Embedded], int],
) -> int:
    logging.basicConfig(format="tailrace: %(message)s", level=logging.WARNING)
    quiet = options["quiet"] or options["as_json"]
    server = _server(folder, pools, loaded)
    view = view_for(quiet=quiet)
    say = _sayer(options["quiet"])
    ending = Ending(folder, say, options, loaded.report)
    return int(run_to_rest(server, view, say, begin, ending.tell).code)


def _server(folder: Path, pools: Pools, loaded: settings.Settings) -> Embedded:
    try:
        return Embedded(
            folder, pools, port=loaded.port, journal=loaded.journal, store=loaded.store,
            notify=loaded.notify,
        )  # fmt: skip
    except StoreBusy as busy:
        there = f"`{hint('watch', folder)}`"
        busy.remedy = busy.remedy.replace("`tailrace watch`", there)
        raise


def refuse_impossible(bag: Bag, loaded: settings.Settings) -> None:
    """Nothing is started for a task that no worker here could ever take."""
    pools = settings.pools(loaded)
    names = [pool.terms.name for pool in pools]
    refuse_unknown(bag.spec.pools, names, lambda *told: bad(bag.spec, ("pools",), *told))
    _refuse_unbound(bag, pools)
    needs, admitted = bag.spec.needs, [p for p in pools if _admits(bag, p.terms.name)]
    there = [_capacity(bag, pool) for pool in admitted if _is_known(pool)]
    if len(there) < len(admitted) or any(fits(needs, amounts) for amounts in there):
        return
    most = max(there, key=lambda amounts: amounts["cores"])
    lacks = next(name for name, amount in needs.items() if most.get(name, 0) < amount)
    where = "no task fits on this machine" if not loaded.pools else "no task fits on any machine"
    remedy = "Lower what each task needs, or run it on a larger machine."
    raise bad(bag.spec, ("needs", lacks), f"{where}: {lacking(needs, most)}", remedy)


def _admits(bag: Bag, pool: str) -> bool:
    return may_use(bag.spec, pool)


def _is_known(pool: AnyPool) -> bool:
    """What a machine elsewhere has is known when it calls, unless it was said."""
    return isinstance(pool, LocalPool) or pool.capacity.cores is not None


def _capacity(bag: Bag, pool: AnyPool) -> dict[str, int]:
    from tailrace.worker.machine import capacity

    given = pool.capacity
    return capacity(bag.spec.folder, given.cores, given.memory, None) | given.more


def _sayer(quiet: bool) -> Callable[[str], None]:
    def say(text: str) -> None:
        if quiet:
            return
        try:
            print(f"tailrace: {text}", file=sys.stderr, flush=True)
        except OSError:  # nobody hears it, and the run goes on
            hush(STDERR)

    return say
