"""What a pool of a scenario cannot be, told before anything runs."""

from __future__ import annotations

import numpy as np

from tailrace.bag.tables import Table
from tailrace.simulation.keys import check_arrivals
from tailrace.simulation.laws import Law
from tailrace.simulation.scenario import Detection, Machines, Stopping, Tasks

SMALLEST = np.array([2.0**-53])  # of all uniforms that are drawn


def check_pool(table: Table, machines: Machines) -> None:
    check_arrivals(table, machines.arrivals, machines.count)
    _check_there(table, machines)
    _check_law(table, "speed", machines.speed)
    _check_law(table, "spread", machines.type.spread)
    _check_law(table, "noise", machines.type.noise)


def _check_there(table: Table, machines: Machines) -> None:
    name, terms = table.path[-1], machines.terms
    if not machines.count and not terms.max:
        remedy = "give machines (that come by themselves) or max (leased on demand)"
        raise table.origin.bad(table.path, f"pool {name} has no machines", remedy)
    if terms.billing.price and not terms.max:
        message = f"pool {name} has a price, but machines that come by themselves cost nothing"
        remedy = f"lease them: max = {machines.count} instead of machines; or leave price out"
        raise table.bad("price", message, remedy)


def check_end(table: Table, tasks: Tasks, pools: tuple[Machines, ...], stop: Stopping) -> None:
    """A task whose attempt is lost, and nobody knows, would be waited for without end."""
    terms = tasks.terms
    if stop.time_us is not None or terms.timeout_us is not None or terms.replication is not None:
        return
    for pool in pools:
        may = not terms.pools or pool.terms.name in terms.pools
        if may and _loses_unknown(pool):
            message = (f"nothing tells bag {terms.name} that an attempt is lost in pool "
                       f"{pool.terms.name}, so it may never end")  # fmt: skip
            remedy = 'give the bag a timeout, as in timeout = "2h", or the scenario a stop.time'
            raise table.origin.bad(table.path, message, remedy)


def _loses_unknown(pool: Machines) -> bool:
    dies = any([pool.failures, pool.owner, pool.owner_hours, pool.trace])
    return pool.returns < 1 or (dies and pool.detection is Detection.DEADLINE)


def _check_law(table: Table, key: str, law: Law) -> None:
    """One of nothing would never do anything."""
    least = law.quantile(SMALLEST).item()
    if least <= 0:
        message = f"{table.label(key)} may be {least:g}"
        raise table.bad(key, message, "it must be above 0; a law may be cut off with at_least")
