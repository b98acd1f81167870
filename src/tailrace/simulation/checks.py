"""What a scenario cannot be, told before anything runs."""

from __future__ import annotations

import numpy as np

from tailrace.bag.needs import lacking
from tailrace.bag.policy import BagPolicy
from tailrace.bag.policysaid import may_use
from tailrace.bag.tables import Table
from tailrace.bag.terms import Limits
from tailrace.pools.budget import unbound
from tailrace.simulation.effects import check_effects
from tailrace.simulation.keys import MOST_MACHINES, MOST_TASKS, check_arrivals
from tailrace.simulation.laws import Law
from tailrace.simulation.reach import check_lives
from tailrace.simulation.scenario import Calling, Detection, Machines, Stopping, Tasks
from tailrace.simulation.sites import Network, known_site

SMALLEST = np.array([2.0**-53])  # of all uniforms that are drawn


def check_pool(table: Table, machines: Machines) -> None:
    check_arrivals(table, machines.arrivals, machines.count)
    _check_there(table, machines)
    check_effects(table, machines)
    _check_rejects(table, machines)
    check_lives(table, machines)
    _check_law(table, "speed", machines.speed)
    _check_law(table, "spread", machines.type.spread)
    _check_law(table, "noise", machines.type.noise)
    _check_law(table, "luck", machines.luck)


def _check_there(table: Table, machines: Machines) -> None:
    name, terms = table.path[-1], machines.terms
    if not machines.count and not terms.max:
        if _emptied(table):
            return
        remedy = "give machines (that come by themselves) or max (leased on demand)"
        raise table.origin.bad(table.path, f"pool {name} has no machines", remedy)
    if terms.billing.price and not terms.max:
        message = f"pool {name} has a price, but machines that come by themselves cost nothing"
        remedy = f"lease them: max = {machines.count} instead of machines; or leave price out"
        raise table.bad("price", message, remedy)
    if terms.billing.price and machines.count:
        message = (
            f"pool {name} has a price, and machines that come by themselves, which cost nothing"
        )
        remedy = "lease them all: raise max instead; your own machines are a pool of their own"
        raise table.bad("machines", message, remedy)


def _check_rejects(table: Table, machines: Machines) -> None:
    if machines.rejects and machines.calls is Calling.WORKER:
        message = "a worker keeps what it has no room for yet: it rejects nothing"
        raise table.bad("when_full", message, 'leave when_full out, or calls = "worker"')


def _emptied(table: Table) -> bool:
    """`--vary pools.cloud.max=0,5,10`: what if there were none?"""
    counts = ((*table.path, "machines"), (*table.path, "max"))
    return any(path in table.origin.typed for path in counts)


def check_end(
    table: Table, tasks: Tasks, pools: tuple[Machines, ...], network: Network, stop: Stopping
) -> None:
    """A task whose attempt is lost, and nobody knows, would be waited for without end."""
    terms = tasks.terms
    if stop.surely:
        return
    own = (terms.policy or BagPolicy()).own
    told = (terms.timeout_us, terms.replication, own.deadline) != (None, None, None)
    for pool in pools:
        if not may_use(terms, pool.terms.name):
            continue
        if not told and _loses_unknown(pool, network):
            message = (f"nothing tells bag {terms.name} that an attempt is lost in pool "
                       f"{pool.terms.name}, so it may never end")  # fmt: skip
            remedy = 'give the bag a timeout, as in timeout = "2h", or the scenario a stop.time'
            raise table.origin.bad(table.path, message, remedy)


def _loses_unknown(pool: Machines, network: Network) -> bool:
    unknown = _dies(pool, network) and pool.detection is Detection.DEADLINE
    return not pool.returns.always or unknown


def _dies(pool: Machines, network: Network) -> bool:
    falls = any(site.outages and site.name in pool.sites for site in network.sites)
    lives = [pool.failures, pool.owner, pool.owner_hours, pool.trace, pool.departs]
    return falls or any(lives)


def _check_law(table: Table, key: str, law: Law) -> None:
    """One of nothing would never do anything."""
    least = law.quantile(SMALLEST).item()
    if least <= 0:
        message = f"{table.label(key)} may be {least:g}"
        raise table.bad(key, message, "it must be above 0; a law may be cut off with at_least")


def check_bag(table: Table, tasks: Tasks, pools: tuple[Machines, ...]) -> None:
    """A pool that is not there, or a task that fits nowhere, would be waited for without end."""
    terms = tasks.terms
    known = [machines.terms.name for machines in pools]
    for name in terms.pools:
        if name not in known:
            remedy = f"the pools are {', '.join(known)}"
            raise table.bad("pools", f"there is no pool {name!r}", remedy)
    check_arrivals(table, tasks.arrivals, terms.count)
    _check_limits(table, terms.limits)
    may = [
        pool
        for pool in pools
        if (pool.count or pool.terms.max) and (not terms.pools or pool.terms.name in terms.pools)
    ]
    if not may:
        remedy = "give machines or max to a pool that it may use"
        raise table.origin.bad(table.path, f"bag {terms.name} has no machines to run on", remedy)
    _check_budget(table, terms.budget, may)
    lacks = [lacking(terms.needs, pool.capacity) for pool in may]
    if all(lacks):
        message = f"no machine has room for a task of bag {terms.name}: {lacks[0]}"
        remedy = "lower its needs, or give a pool more of that: slots, memory, disk, gpus"
        raise table.origin.bad(table.path, message, remedy)


def _check_budget(table: Table, budget: dict[str, int], pools: list[Machines]) -> None:
    found = unbound(budget, [pool.terms.billing for pool in pools])
    if found is not None:
        raise table.bad("budget", found.message, f"give it in {found.paid_in}")


def _check_limits(table: Table, limits: Limits) -> None:
    for name in ("memory", "disk"):
        if getattr(limits, name) is not None:
            message = f"limits.{name} would have no effect: no {name} is used in a simulation"
            remedy = f"leave it out; needs.{name} says what a task takes of a machine"
            raise table.origin.bad((*table.path, "limits", name), message, remedy)


def check_stop(
    table: Table, stop: Stopping, bags: tuple[Tasks, ...], pools: tuple[Machines, ...]
) -> None:
    """One that never comes."""
    there = sum(tasks.terms.count for tasks in bags)
    for key, wanted, what in (
        ("tasks", stop.tasks, "results"), ("failed", stop.failed, "failed tasks"),
    ):  # fmt: skip
        if wanted is not None and wanted > there:
            raise table.origin.bad(
                ("stop", key), f"it stops after {wanted} {what}, but there are {there} tasks",
                "lower it, or give the bags more tasks",
            )  # fmt: skip
    paid = dict.fromkeys(pool.terms.billing.currency for pool in pools if pool.terms.billing.price)
    if stop.spent is not None and stop.spent[0] not in paid:
        message = f"it stops when so much is spent, but nothing is paid in {stop.spent[0]}"
        raise table.origin.bad(("stop", "spent"), message,
                               f"give it in {' or '.join(paid)}" if paid else "give a pool a price",
                               )  # fmt: skip


def check_size(table: Table, pools: tuple[Machines, ...], bags: tuple[Tasks, ...]) -> None:
    """All together: a typo must not take all memory."""
    machines = sum(pool.count + pool.terms.max for pool in pools)
    tasks = sum(tasks.terms.count for tasks in bags)
    for key, what, there, most in (
        ("pools", "machines", machines, MOST_MACHINES), ("bags", "tasks", tasks, MOST_TASKS),
    ):  # fmt: skip
        if there > most:
            message = f"all {key} together have {there:,} {what}"
            raise table.origin.bad((key,), message, f"a scenario has at most {most:,} of them")


def check_sites(table: Table, pools: tuple[Machines, ...], network: Network) -> None:
    names = [site.name for site in network.sites]
    for machines in pools:
        inner = Table({}, table.origin, ("pools", machines.terms.name))
        for site in machines.sites:
            known_site(inner, "site", site, names)


def check_ways(table: Table, tasks: Tasks, pools: tuple[Machines, ...], network: Network) -> None:
    """Between the storage and each machine, for what travels with the tasks."""
    if not tasks.files.travels:
        return
    if network.storage is None:
        remedy = 'add [network] with storage = { site = "…" }'
        message = f"files of bag {tasks.terms.name} travel, but there is no storage"
        raise table.origin.bad(table.path, message, remedy)
    for machines in pools:
        _check_way(table, machines, network, network.storage.site)


def _check_way(table: Table, machines: Machines, network: Network, storage: str) -> None:
    path = ("pools", machines.terms.name)
    if not machines.sites:
        message = f"files travel, but the machines of {machines.terms.name} stand nowhere"
        raise table.origin.bad(path, message, 'say at which site: site = "…"')
    for site in machines.sites:
        if not network.joins(storage, site):
            message = f"no way leads from the storage at {storage} to {site}"
            raise table.origin.bad((*path, "site"), message, "add wan under [network]")
