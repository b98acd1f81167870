"""What a run of the virtual world comes to: figures of the system, each machine and each link."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec
import numpy as np

from tailrace.scheduler import money
from tailrace.simulation.availability import of_all
from tailrace.simulation.host import SimulatedHost
from tailrace.simulation.network import Link, Reach
from tailrace.simulation.record import UNKNOWN, Record
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

HOUR = 3_600_000_000
SECOND = 1_000_000
MEGABYTE = 1_000_000
CURVE_POINTS, CURVE_TAIL = 400, 200


class Part(msgspec.Struct, frozen=True):
    """A machine or a link, with its figures."""

    name: str
    kind: str  # its pool, or its reach
    figures: dict[str, float]
    leased: bool = False


def figures(world: World) -> dict[str, float]:
    """Of the whole system; times in seconds."""
    makespan = {"makespan_s": _makespan_us(world) / SECOND}
    deadline = _deadline(world)
    return makespan | deadline | task_figures(world.records) | _system(world) | _costs(world)


def figure_names(scenario: Scenario) -> list[str]:
    """All there can be: those of nothing at all, that of a deadline, and the costs."""
    plain = figures(World(Scenario((), ()), 0))
    if any(tasks.terms.deadline_us is not None for tasks in scenario.bags):
        plain["deadline_kept"] = 0.0
    billings = [pool.terms.billing for pool in scenario.pools]
    return [*plain, *dict.fromkeys(f"cost_{one.currency}" for one in billings if one.price)]


def task_figures(records: Sequence[Record]) -> dict[str, float]:
    """Of all tasks; DSiDE's names for them are in the reference of scenarios."""
    submitted = sum(record.submitted for record in records)
    sent = sum(record.first_sent for record in records)
    waiting = [time for record in records for time in record.waiting_us()]
    turnaround = [time for record in records for time in record.turnaround_us()]
    return {
        "tasks_done": sum(record.succeeded for record in records),
        "tasks_failed": sum(record.failed for record in records),
        "tasks_submitted": submitted,
        "tasks_sent": sent,
        "tasks_waiting": submitted - sent,
        "accepted": sent / submitted if submitted else 0.0,
        "attempts": sum(record.attempts for record in records),
        "restarts": sum(record.restarts for record in records),
        "waiting_s": fmean(waiting) / SECOND if waiting else 0.0,
        "turnaround_s": fmean(turnaround) / SECOND if turnaround else 0.0,
    }


def remaining(records: Sequence[Record]) -> list[tuple[int, int]]:
    """The tasks not done, as a curve of no more points than a picture shows: all of the tail, and
    evenly many before."""
    done = np.concatenate([np.array(record.done, np.int64) for record in records])
    times = np.sort(done[done != UNKNOWN])
    tail = np.arange(max(len(times) - CURVE_TAIL, 0), len(times))
    spread = np.linspace(0, max(len(times) - 1, 0), CURVE_POINTS).astype(int)
    points = np.unique(np.concatenate([spread, tail])).tolist() if len(times) else []
    return [(0, len(done)), *((int(times[n]), len(done) - int(n) - 1) for n in points)]


def _makespan_us(world: World) -> int:
    """Until the last result there is."""
    last = max((max(record.done, default=UNKNOWN) for record in world.records), default=UNKNOWN)
    return last if last != UNKNOWN else world.engine.now


def _deadline(world: World) -> dict[str, float]:
    """Only where there is one. Kept: each task of each such bag had its result by then."""
    bags = zip(world.scenario.bags, world.records, strict=True)
    kept = [
        len(record.done) == record.settled
        and max(record.done) <= tasks.submitted_us + tasks.terms.deadline_us
        for tasks, record in bags
        if tasks.terms.deadline_us is not None
    ]
    return {"deadline_kept": float(all(kept))} if kept else {}


def fates(world: World) -> dict[str, int]:
    """Of the tasks that failed for good: what ended them."""
    found: dict[str, int] = {}
    for record in world.records:
        for outcome, count in record.fates.items():
            found[outcome.value] = found.get(outcome.value, 0) + count
    return found


def _system(world: World) -> dict[str, float]:
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
        "jobs_rejected": sum(usage.rejected for usage in usages),
        "jobs_lost": sum(usage.lost for usage in usages),
        "checkpoints": sum(usage.saves for usage in usages),
        "work_done_h": done / HOUR,
        "work_useful_h": useful / HOUR,
        "work_lost": (done - useful) / done if done else 0.0,
    }


def machines(world: World) -> list[Part]:
    """Each of them, in the order in which they came."""
    now = world.engine.now
    return [
        Part(host.name, host.pool.terms.name, _machine(host, now), host.lease is not None)
        for host in world.every_host
    ]


def _machine(host: SimulatedHost, now: int) -> dict[str, float]:
    usage, availability = host.machine.usage(), host.presence.availability
    return {
        "availability": availability.share(now),
        "down_s": availability.down_us(now) / SECOND,
        "failures": usage.failures,
        "busy": usage.busy_us / usage.up_us if usage.up_us else 0.0,
        "full": usage.full_us / usage.up_us if usage.up_us else 0.0,
        "work_done_h": usage.work_done / HOUR,
        "work_useful_h": usage.useful_work / HOUR,
        "jobs_done": usage.ended,
        "jobs_lost": usage.lost,
        "jobs_dropped": usage.dropped,
        "jobs_rejected": usage.rejected,
        "checkpoints": usage.saves,
    }


def links(world: World) -> list[Part]:
    """Each of them; none without a network."""
    now = world.engine.now
    return [Part(link.name, link.reach.value, link_figures(link, now)) for link in world.links]


def link_figures(link: Link, now: int) -> dict[str, float]:
    """A wide link has its rate for each transfer, however many there are: it is never used up."""
    shared = now and link.reach is Reach.LOCAL
    return {
        "megabytes": link.bytes / MEGABYTE,
        "busy": link.busy_us(now) / now if now else 0.0,
        "used": link.bytes / (link.bytes_per_s * now / SECOND) if shared else 0.0,
    }


def _costs(world: World) -> dict[str, float]:
    """Of all leases, as far as they have cost something."""
    state = world.scheduler.state
    found: dict[str, float] = {}
    for bag in state.bags.values():
        for currency in dict.fromkeys([*bag.paid, *_currencies(world)]):
            spent = money.spent(state, bag, currency, world.engine.now)
            if spent:
                name = f"cost_{currency}"
                found[name] = found.get(name, 0.0) + spent / 1e6
    return found


def _currencies(world: World) -> list[str]:
    return [machines.terms.billing.currency for machines in world.scenario.pools]
