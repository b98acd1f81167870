"""What a run of the virtual world comes to: figures of the system, by name, and of each machine."""

from __future__ import annotations

from statistics import fmean

from tailrace.scheduler import money
from tailrace.simulation.availability import of_all
from tailrace.simulation.record import UNKNOWN
from tailrace.simulation.world import World

HOUR = 3_600_000_000
SECOND = 1_000_000


def figures(world: World) -> dict[str, float]:
    """Of the whole system; times in seconds."""
    found: dict[str, float] = {"makespan_s": _makespan_us(world) / SECOND}
    records = world.records
    found["tasks_done"] = sum(record.succeeded for record in records)
    found["tasks_failed"] = sum(record.failed for record in records)
    found["tasks_submitted"] = sum(len(r.arrived) - r.arrived.count(UNKNOWN) for r in records)
    found["attempts"] = sum(record.attempts for record in records)
    found["restarts"] = sum(record.restarts for record in records)
    waiting = [time for record in records for time in record.waiting_us()]
    turnaround = [time for record in records for time in record.turnaround_us()]
    found["waiting_s"] = fmean(waiting) / SECOND if waiting else 0.0
    found["turnaround_s"] = fmean(turnaround) / SECOND if turnaround else 0.0
    return found | _machines(world) | _costs(world)


def _makespan_us(world: World) -> int:
    """Until the last result there is."""
    last = max((max(record.done, default=UNKNOWN) for record in world.records), default=UNKNOWN)
    return last if last != UNKNOWN else world.engine.now


def _machines(world: World) -> dict[str, float]:
    now = world.engine.now
    usages = [host.machine.usage() for host in world.every_host]
    up = sum(usage.up_us for usage in usages)
    done = sum(usage.work_done for usage in usages)
    useful = sum(usage.useful_work for usage in usages)
    return {
        "availability": of_all([host.presence.availability for host in world.every_host], now),
        "busy": sum(usage.busy_us for usage in usages) / up if up else 0.0,
        "full": sum(usage.full_us for usage in usages) / up if up else 0.0,
        "failures": sum(usage.failures for usage in usages),
        "jobs_lost": sum(usage.lost for usage in usages),
        "work_done_h": done / HOUR,
        "work_useful_h": useful / HOUR,
        "work_lost": (done - useful) / done if done else 0.0,
    }


def _costs(world: World) -> dict[str, float]:
    """Of all leases, as far as they have cost something."""
    state = world.scheduler.state
    found: dict[str, float] = {}
    for bag in state.bags.values():
        for currency in dict.fromkeys([*bag.paid, *_currencies(world)]):
            spent = money.spent(state, bag, currency)
            if spent:
                name = f"cost_{currency}"
                found[name] = found.get(name, 0.0) + spent / 1e6
    return found


def _currencies(world: World) -> list[str]:
    return [machines.terms.billing.currency for machines in world.scenario.pools]
