"""Keys of a pool that would change nothing: refused, since who wrote them thinks otherwise."""

from __future__ import annotations

from tailrace.bag.tables import Table
from tailrace.pools.terms import HOUR_US
from tailrace.simulation.arrivals import AtOnce
from tailrace.simulation.scenario import Machines


def check_effects(table: Table, machines: Machines) -> None:
    """Where a flag says that there are none, the file need not be changed for that."""
    if not machines.terms.max and not _typed(table, "max"):
        _refuse(table, _of_leases(machines), "no machine of it is leased",
                f"lease them: max = {machines.count} instead of machines")  # fmt: skip
    if not machines.count and not _typed(table, "machines"):
        _refuse(table, _of_others(machines), "all its machines are leased, and gone when they go",
                f"let them come by themselves: machines = {machines.terms.max}")  # fmt: skip


def _typed(table: Table, key: str) -> bool:
    return (*table.path, key) in table.origin.typed


def _of_leases(machines: Machines) -> dict[str, bool]:
    return {
        "ending": machines.ending is not None,
        "never_up": machines.never_up is not None,
        "lease": machines.terms.lease_us != HOUR_US,
    }


def _of_others(machines: Machines) -> dict[str, bool]:
    failures, owner = machines.failures, machines.owner
    return {
        "down": failures is not None and failures.away is not None,
        "owner_there": owner is not None and owner.away is not None,
        "departs": machines.departs is not None,
        "arrivals": not isinstance(machines.arrivals, AtOnce),
    }


def _refuse(table: Table, given: dict[str, bool], why: str, remedy: str) -> None:
    for key, is_given in given.items():
        if is_given:
            message = f"{table.label(key)} would have no effect: {why}"
            raise table.bad(key, message, f"leave {key} out; or {remedy}")
