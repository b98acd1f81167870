"""What a run of the virtual world comes to: figures of the system, each machine and each link."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.scheduler import money
from tailrace.simulation.availability import of_all
from tailrace.simulation.host import Sent, SimulatedHost
from tailrace.simulation.job import Job
from tailrace.simulation.network import Link, Reach
from tailrace.simulation.record import UNKNOWN, Record
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.usage import Usage
from tailrace.simulation.world import World

HOUR = 3_600_000_000
SECOND = 1_000_000
MEGABYTE = 1_000_000
CURVE_POINTS, CURVE_TAIL = 400, 200
PART = 1 << 16  # tasks


Figures = dict[str, float | None]  # None: this run, or machine, cannot know it


class Part(msgspec.Struct, frozen=True):
    """A machine or a link, with its figures."""

    name: str
    kind: str  # its pool, or its reach
    figures: Figures
    leased: bool = False


def figures(world: World) -> Figures:
    """Of the whole system; times in seconds."""
    return {
        "makespan_s": _makespan_s(world),
        **_deadline(world),
        **task_figures(world.records),
        **_system(world),
        **_rejected(world, world.every_host),
        **_costs(world),
    }


def figure_names(scenario: Scenario) -> list[str]:
    """All there can be: those of nothing at all, those of a deadline and of machines that reject,
    and the costs."""
    plain = figures(World(Scenario((), ()), 0))
    if any(pool.rejects for pool in scenario.pools):
        plain["attempts_rejected"] = 0.0
    if any(tasks.terms.deadline_us is not None for tasks in scenario.bags):
        plain["deadline_kept"] = 0.0
    billings = [pool.terms.billing for pool in scenario.pools]
    return [*plain, *dict.fromkeys(f"cost_{one.currency}" for one in billings if one.price)]


def task_figures(records: Sequence[Record]) -> Figures:
    """Of all tasks; DSiDE's names for them are in the reference of scenarios."""
    submitted = sum(record.submitted for record in records)
    sent = sum(record.first_sent for record in records)
    waited_us = sum(_waited_us(record) for record in records)
    succeeded = sum(record.succeeded for record in records)
    turnaround_us = sum(record.turnaround_us for record in records)
    return {
        "tasks_done": succeeded,
        "tasks_failed": sum(record.failed for record in records),
        "tasks_submitted": submitted,
        "tasks_sent": sent,
        "tasks_waiting": submitted - sent,
        "accepted": sent / submitted if submitted else 0.0,
        "attempts": sum(record.attempts for record in records),
        "restarts": sum(record.restarts for record in records),
        "waiting_s": waited_us / sent / SECOND if sent else None,
        "turnaround_s": turnaround_us / succeeded / SECOND if succeeded else None,
    }


def _waited_us(record: Record) -> float:
    """Until their first sending, all tasks together. A part at a time: there may be many."""
    arrived, sent = (np.frombuffer(one, np.int64) for one in (record.arrived, record.sent))
    waited = 0.0
    for begin in range(0, len(sent), PART):
        part = slice(begin, begin + PART)
        some = sent[part] != UNKNOWN
        waited += float((sent[part] - arrived[part])[some].sum(dtype=np.float64))
    return waited


def remaining(records: Sequence[Record], until_us: int = 0) -> list[tuple[int, int]]:
    """The tasks not done, as a curve of no more points than a picture shows: all of the tail, and
    evenly many before. Those that failed are never done. It ends when the last is settled, or
    `until_us`, when the run was cut off."""
    done = np.concatenate([np.frombuffer(record.done, np.int64) for record in records])
    times = np.sort(np.concatenate([_successes(record) for record in records]))
    tail = np.arange(max(len(times) - CURVE_TAIL, 0), len(times))
    spread = np.linspace(0, max(len(times) - 1, 0), CURVE_POINTS).astype(int)
    points = np.unique(np.concatenate([spread, tail])).tolist() if len(times) else []
    curve = [(0, len(done)), *((int(times[n]), len(done) - int(n) - 1) for n in points)]
    end_us = max(int(done.max(initial=0)), until_us)
    return curve if end_us <= curve[-1][0] else [*curve, (end_us, curve[-1][1])]


def _successes(record: Record) -> NDArray[np.int64]:
    """When each task had its result, if it did not fail."""
    done = np.array(record.done, np.int64)
    done[np.array(record.given_up, np.int64)] = UNKNOWN
    found: NDArray[np.int64] = done[done != UNKNOWN]
    return found


def _makespan_s(world: World) -> float | None:
    """Until the last result. Where a task has none, that is still to come."""
    if not all(record.complete for record in world.records):
        return None
    return max((max(record.done, default=0) for record in world.records), default=0) / SECOND


def _deadline(world: World) -> Figures:
    """Only where there is one. Kept: each task of each such bag had its result by then."""
    bags = zip(world.scenario.bags, world.records, strict=True)
    kept = [
        _is_kept(record, tasks.submitted_us + tasks.terms.deadline_us, world.engine.now)
        for tasks, record in bags
        if tasks.terms.deadline_us is not None
    ]
    if not kept:
        return {}
    return {"deadline_kept": 0.0 if False in kept else None if None in kept else 1.0}


def _is_kept(record: Record, deadline_us: int, now: int) -> bool | None:
    """None: the run ended before anybody could know."""
    if record.failed or max(record.done) > deadline_us:
        return False
    if record.complete:
        return True
    return None if now < deadline_us else False


def fates(world: World) -> dict[str, int]:
    """Of the tasks that failed for good: what ended them."""
    found: dict[str, int] = {}
    for record in world.records:
        for outcome, count in record.fates.items():
            found[outcome.value] = found.get(outcome.value, 0) + count
    return found


def _system(world: World) -> Figures:
    now = world.engine.now
    usages = [_usage(world, host) for host in world.every_host]
    up = sum(usage.up_us for usage in usages)
    done = sum(usage.work_done for usage in usages)
    useful = sum(usage.useful_work for usage in usages)
    return {
        "availability": of_all([host.presence.availability for host in world.every_host], now),
        "busy": sum(usage.busy_us for usage in usages) / up if up else None,
        "full": sum(usage.full_us for usage in usages) / up if up else None,
        "failures": sum(usage.failures for usage in usages),
        "jobs_lost": sum(usage.lost for usage in usages),
        "checkpoints": sum(usage.saves for usage in usages),
        "work_done_h": done / HOUR,
        "work_useful_h": useful / HOUR,
        "work_lost": (done - useful) / done if done else 0.0,
    }


def _usage(world: World, host: SimulatedHost) -> Usage:
    """What is at work to no purpose, since its task has its result from another or was given up,
    is lost at the end of the run: that of losers which run on."""
    usage, machine = host.machine.usage(), host.machine
    vain = sum(machine.progress(job) - job.saved for job in machine.jobs if _is_over(world, job))
    return usage._replace(work_lost=usage.work_lost + vain) if vain else usage


def _is_over(world: World, job: Job) -> bool:
    sent: Sent = job.tag
    return world.records[sent.bag - 1].done[sent.index] != UNKNOWN


def _rejected(world: World, hosts: Sequence[SimulatedHost]) -> Figures:
    """Only in a world where some may be."""
    if not any(pool.rejects for pool in world.scenario.pools):
        return {}
    return {"attempts_rejected": sum(host.rejected for host in hosts)}


def machines(world: World) -> list[Part]:
    """Each of them, in the order in which they came."""
    return [
        Part(
            host.name, host.pool.terms.name, _machine(world, host) | _rejected(world, [host]),
            host.lease is not None,
        )
        for host in world.every_host
    ]  # fmt: skip


def _machine(world: World, host: SimulatedHost) -> Figures:
    usage, availability, now = _usage(world, host), host.presence.availability, world.engine.now
    return {
        "availability": availability.share(now),
        "down_s": availability.down_us(now) / SECOND,
        "failures": usage.failures,
        "busy": usage.busy_us / usage.up_us if usage.up_us else None,
        "full": usage.full_us / usage.up_us if usage.up_us else None,
        "work_done_h": usage.work_done / HOUR,
        "work_useful_h": usage.useful_work / HOUR,
        "jobs_done": usage.ended,
        "jobs_lost": usage.lost,
        "jobs_dropped": usage.dropped,
        "checkpoints": usage.saves,
    }


def links(world: World) -> list[Part]:
    """Each of them; none without a network."""
    now = world.engine.now
    return [Part(link.name, link.reach.value, link_figures(link, now)) for link in world.links]


def link_figures(link: Link, now: int) -> Figures:
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
