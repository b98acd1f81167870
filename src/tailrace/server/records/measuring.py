"""What a recorded run has measured: of its pools, its tasks and their failures, as plain numbers.

From these a scenario can be made that runs like it (`tailrace simulate RUN`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from tailrace.bag.needs import THOUSANDTHS, times
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import HostPolicy
from tailrace.bag.terms import Terms
from tailrace.pools.terms import Pool
from tailrace.report.record import AttemptRecord
from tailrace.scheduler.events import HostSeen
from tailrace.scheduler.journal import decode_page
from tailrace.scheduler.rows import BagPhase, BagRow, HostRow, LeaseRow
from tailrace.server.records import bills, reading
from tailrace.server.records.attempts import of_bag
from tailrace.server.records.occupancy import Held, Occupancy, occupancy
from tailrace.server.records.outages import Span, outages, together_us
from tailrace.server.records.paces import paces
from tailrace.server.records.slopes import Ran, slopes
from tailrace.server.records.warming import warming_us
from tailrace.server.tables.link import Link

T = TypeVar("T")
FAILURES = (Outcome.TASK_FAILED, Outcome.OVER_LIMIT, Outcome.HOST_FAILED)


class Lifetime(NamedTuple):
    """How long a leased machine was up; one that we gave back would have lived longer."""

    us: int
    died: bool


class MeasuredPool(msgspec.Struct, frozen=True, kw_only=True):
    terms: Pool
    machines: int  # that came by themselves
    capacity: dict[str, int]  # of its machines, the most of each
    slots: int  # tasks of the bag at once on one of them
    kind: str  # of its hosts; of several, what most of them are
    owner: str = ""  # the same
    cpu: str = ""
    says: HostPolicy | None = None
    slope: float  # how many times as long tasks take there, beyond what the speeds say
    speeds: list[float]  # of each machine, as it told; in the order of `paces`
    slot: Occupancy  # beyond the run times
    startup_us: list[int]  # of each lease that came up, until it was warm
    ending_us: list[int]  # of each that was given back, until it was gone
    paces: list[float]  # of each machine, as they came: how many times as long its tasks took
    lifetimes: list[Lifetime]
    never_up_us: list[int]  # how long each lease lasted that had no first call


class MeasuredRun(msgspec.Struct, frozen=True, kw_only=True):
    bag: int
    terms: Terms
    pools: list[MeasuredPool]
    run_us: dict[int, int]  # of each task with a result, as on a machine of slope and speed 1
    failing: list[int]  # those of them that failed for good
    failing_attempts: float  # and of attempts of the others
    attempts: int
    done: int
    failed: int
    makespan_us: int | None  # without the time in which it stood still; None: it has not finished
    paused_us: int  # by its owner, or because no server ran
    spent: dict[str, int]  # micro-units by currency


class Settled(NamedTuple):
    """A task with a result, and the attempt that gave it."""

    task: int
    attempt: int
    host: str
    run_us: int
    outcome: str


def measure(link: Link, bag: int) -> MeasuredRun:
    row, facts = reading.bag_row(link, bag), reading.bag(link, bag)
    hosts = _hosts(link)
    attempts = of_bag(link, bag, {host.host: host.pool for host in hosts.values()})
    leases = {lease.lease: lease for lease in bills.leases(link, bag)}
    settled = _settled(link, bag)
    slope = _slopes(settled, hosts)
    pace = _paces(settled, hosts)
    failing = [one.task for one in settled if one.outcome != Outcome.SUCCEEDED]
    down = list(outages(link))
    paused = _paused_us(link, row, down)
    return MeasuredRun(
        bag=bag,
        terms=row.terms,
        pools=list(_pools(link, row.terms, attempts, hosts, leases, slope, pace, down)),
        run_us={
            one.task: round(_at_speed_1(one, hosts) / slope[hosts[one.host].pool] / pace[one.host])
            for one in settled
        },
        failing=failing,
        failing_attempts=_share_failing(attempts, set(failing)),
        attempts=len(attempts),
        done=facts.done,
        failed=facts.failed,
        makespan_us=_makespan_us(row.phase, row.ended_us, row.submitted_us, paused),
        paused_us=paused,
        spent=bills.spent(link, bag, row.ended_us),
    )


def _hosts(link: Link) -> dict[str, HostRow]:
    """A worker that is about to end offers nothing, and that is what was noted of it last; what it
    offered before stands in the journal, or it said what its machine has."""
    facts = reading.hosts(link)
    rows = {host.row.host: host.row for host in facts}
    ending = [host for host in facts if not any(host.row.capacity.values())]
    offered = _offered(link) if ending else {}
    for host in ending:
        name, cores = host.row.host, int(host.about.get("cores") or 1)
        capacity = offered.get(name, {"cores": cores * THOUSANDTHS})
        rows[name] = msgspec.structs.replace(host.row, capacity=capacity)
    return rows


def _offered(link: Link) -> dict[str, dict[str, int]]:
    """The last that was not nothing, by host."""
    found = {}
    for body in reading.journal(link):
        for entry in decode_page(body).entries:
            event = entry.event
            if isinstance(event, HostSeen) and any(event.capacity.values()):
                found[event.host] = event.capacity
    return found


def _settled(link: Link, bag: int) -> list[Settled]:
    rows = link.execute(
        "SELECT r.idx, attempt, a.host, a.run_us, r.outcome"
        " FROM results r JOIN attempts a USING (attempt)"
        " WHERE r.bag = ? AND a.run_us IS NOT NULL ORDER BY r.idx",
        (bag,),
    )
    return [Settled(*row) for row in rows]


def _slopes(settled: list[Settled], hosts: dict[str, HostRow]) -> dict[str, float]:
    """By pool."""
    sent = [(hosts[one.host], one.run_us) for one in sorted(settled, key=lambda one: one.attempt)]
    return slopes([Ran(host.pool, host.speed, run_us) for host, run_us in sent])


def _paces(settled: list[Settled], hosts: dict[str, HostRow]) -> dict[str, float]:
    """By host, beside the others of its pool, beyond what its speed says."""
    there: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in settled:
        there[hosts[one.host].pool][one.host].append(_at_speed_1(one, hosts))
    return {host: pace for pool in there.values() for host, pace in paces(pool).items()}


def _at_speed_1(one: Settled, hosts: dict[str, HostRow]) -> int:
    return round(one.run_us * hosts[one.host].speed)


def _share_failing(attempts: list[AttemptRecord], failing: set[int]) -> float:
    """Of attempts that ended, of tasks that can succeed."""
    ended = [a.outcome for a in attempts if a.index not in failing and a.run_us is not None]
    return sum(outcome in FAILURES for outcome in ended) / len(ended) if ended else 0.0


# pools


def _pools(
    link: Link,
    terms: Terms,
    attempts: list[AttemptRecord],
    hosts: dict[str, HostRow],
    leases: dict[int, LeaseRow],
    slope: dict[str, float],
    pace: dict[str, float],
    down: list[Span],
) -> Iterable[MeasuredPool]:
    """Those that did something for the bag: of the others nothing is known."""
    known = terms_of_pools(link)
    used = dict.fromkeys(a.pool for a in attempts)
    let_end = _let_end(link)
    died = {n for n, row in leases.items() if n not in let_end and row.gone_us is not None}
    for name in used:
        own = [lease for lease in leases.values() if lease.pool == name]
        theirs = [a for a in attempts if a.pool == name]
        there = [hosts[host] for host in dict.fromkeys(a.host for a in theirs)]
        free = dict.fromkeys(a.host for a in theirs if a.lease not in leases)
        slots = max(1, *(times(terms.needs, host.capacity) for host in there))
        slot = occupancy(_held(theirs), slots)
        cold = warming_us([lease.lease for lease in own], theirs, slot)
        machines = [*free, *(x.host for x in own)]
        yield MeasuredPool(
            terms=_agreed(known.get(name, Pool(name)), own),
            machines=len(free),
            capacity=_most(there),
            slots=slots,
            kind=_mostly(host.kind for host in there),
            owner=_mostly(host.owner for host in there),
            cpu=_mostly(host.cpu for host in there),
            says=_mostly(host.says for host in there),
            slope=slope.get(name, 1.0),
            speeds=_speeds(machines, hosts),
            slot=slot,
            startup_us=[x.up_us - x.wanted_us + cold[x.lease] for x in own if x.up_us is not None],
            ending_us=list(_endings(own, let_end)),
            paces=[pace.get(host, 1.0) for host in machines],
            lifetimes=[
                _lifetime(x, cold[x.lease], x.lease in died, down)
                for x in own
                if x.up_us is not None
            ],
            never_up_us=[us for x in own if (us := _missed_us(x, died, down)) is not None],
        )


def _endings(leases: list[LeaseRow], let_end: dict[int, int]) -> Iterator[int]:
    """From giving a machine back until it is gone, and paid no more."""
    for lease in leases:
        if lease.gone_us is not None and lease.lease in let_end:
            yield lease.gone_us - let_end[lease.lease]


def terms_of_pools(link: Link) -> dict[str, Pool]:
    """By name, as they were last."""
    rows = link.execute("SELECT row FROM pools ORDER BY since_us")
    pools = (msgspec.json.decode(row[0], type=Pool) for row in rows)
    return {pool.name: pool for pool in pools}


def _agreed(pool: Pool, leases: list[LeaseRow]) -> Pool:
    """At the price of its newest lease; pools change theirs."""
    if not leases:
        return msgspec.structs.replace(pool, max=0)
    return msgspec.structs.replace(pool, billing=leases[-1].billing)


def _most(hosts: list[HostRow]) -> dict[str, int]:
    found: dict[str, int] = {}
    for host in hosts:
        for name, amount in host.capacity.items():
            found[name] = max(found.get(name, 0), amount)
    return found


def _speeds(machines: list[str], hosts: dict[str, HostRow]) -> list[float]:
    """One that never came up told nothing: it would have been as most."""
    told = [hosts[host].speed for host in machines if host in hosts]
    usual = _mostly(told) if told else 1.0
    return [hosts[host].speed if host in hosts else usual for host in machines]


def _mostly(values: Iterable[T]) -> T:
    return Counter(values).most_common(1)[0][0]


def _held(attempts: list[AttemptRecord]) -> list[list[Held]]:
    """What each machine had, in the order it was sent."""
    by_machine: dict[Any, list[Held]] = defaultdict(list)
    for a in attempts:
        if a.run_us is not None and a.ended_us is not None:
            by_machine[a.host, a.lease].append(Held(a.sent_us, a.ended_us, a.run_us))
    return list(by_machine.values())


def _let_end(link: Link) -> dict[int, int]:
    """When, by lease; those that were gone before that have died."""
    found = {}
    for at_us, body in link.execute("SELECT at_us, body FROM feed WHERE kind = 'lease'"):
        told = msgspec.json.decode(body)
        if told["state"] == "ending":
            found[told["lease"]] = at_us
    return found


def _missed_us(lease: LeaseRow, died: set[int], down: list[Span]) -> int | None:
    """Of one that was gone before its first call, and not because its server was."""
    gone_us = lease.gone_us
    if lease.up_us is not None or gone_us is None or lease.lease not in died:
        return None
    with_server = any(lease.wanted_us <= span.from_us <= gone_us for span in down)
    return None if with_server else gone_us - lease.wanted_us


def _lifetime(lease: LeaseRow, cold_us: int, died: bool, down: list[Span]) -> Lifetime:
    """Since it was warm. One that ended with its server would have lived longer, too."""
    up_us = (lease.up_us or lease.wanted_us) + cold_us
    gone_us = lease.gone_us if lease.gone_us is not None else lease.ends_us
    with_server = [span.from_us for span in down if up_us <= span.from_us <= gone_us]
    if with_server:
        return Lifetime(max(with_server[0] - up_us, 0), False)
    return Lifetime(max(gone_us - up_us, 0), died)


# the run itself


def _makespan_us(
    phase: BagPhase, ended_us: int | None, submitted_us: int, paused_us: int
) -> int | None:
    if phase is not BagPhase.FINISHED or ended_us is None:
        return None
    return ended_us - submitted_us - paused_us


def _paused_us(link: Link, row: BagRow, down: list[Span]) -> int:
    """Between an interruption and going on, and while no server ran."""
    ended = row.ended_us or 0
    inside = [span for span in down if row.submitted_us <= span.from_us and span.to_us <= ended]
    return together_us([*pauses(link, row.bag), *inside])


def pauses(link: Link, bag: int, until_us: int | None = None) -> Iterator[Span]:
    """One that is not over lasts `until_us`, if that is given."""
    query = "SELECT at_us, body FROM feed WHERE bag = ? AND kind = 'phase' ORDER BY n"
    since = None
    for at_us, body in link.execute(query, (bag,)):
        runs = msgspec.json.decode(body)["phase"] == BagPhase.RUNNING
        if runs and since is not None:
            yield Span(since, at_us)
        since = None if runs else at_us if since is None else since
    if since is not None and until_us is not None:
        yield Span(since, max(until_us, since))
