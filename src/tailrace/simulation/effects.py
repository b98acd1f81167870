"""Keys that would change nothing: refused, since who wrote them thinks otherwise."""

from __future__ import annotations

from tailrace.bag.tables import Table
from tailrace.pools.terms import HOUR_US
from tailrace.quantities import show_duration
from tailrace.simulation.arrivals import AtOnce
from tailrace.simulation.scenario import Machines, Stopping, Tasks


def check_effects(table: Table, machines: Machines) -> None:
    """Where a flag says that there are none, the file need not be changed for that."""
    if not machines.terms.max and not _typed(table, "max"):
        _refuse(table, _of_leases(machines), "no machine of it is leased",
                f"lease them: max = {machines.count} instead of machines")  # fmt: skip
    if not machines.count and not _typed(table, "machines"):
        _refuse(table, _of_others(machines), "all its machines are leased, and gone when they go",
                _instead(machines))  # fmt: skip
    if machines.link is not None and not machines.sites:
        _refuse(table, {"link": True}, "its machines stand nowhere", 'say where: site = "…"')


def check_begin(table: Table, tasks: Tasks, stop: Stopping) -> None:
    """A bag that is submitted after the end. A flag may ask for a shorter run."""
    ends_us = stop.time_us
    if ends_us is None or tasks.submitted_us <= ends_us or ("stop", "time") in table.origin.typed:
        return
    message = (f"bag {tasks.terms.name} would come after {show_duration(tasks.submitted_us)}, "
               f"but the run stops after {show_duration(ends_us)}")  # fmt: skip
    raise table.bad("at", message, "let it come earlier, or raise stop.time")


def check_priced(table: Table) -> None:
    """Before its keys are read."""
    given = {key: key in table for key in ("unit", "minimum")}
    if "price" not in table:
        _refuse(table, given, "its machines cost nothing", 'add price = "0.10 USD/h"')


def check_silence(table: Table, detection: str) -> None:
    """Before its key is read. A flag may ask how it were with another detection."""
    if "silent_after" in table and not _typed(table, "detection"):
        _refuse(table, {"silent_after": True}, f'detection is "{detection}"',
                'write detection = "silent"')  # fmt: skip


def _instead(machines: Machines) -> str:
    """Machines that come by themselves cost nothing, so where there is a price it is a lease."""
    if machines.terms.billing.price:
        return "say with startup how long it takes until another is there in its place"
    return f"let them come by themselves: machines = {machines.terms.max}"


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
