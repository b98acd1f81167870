"""What came of the machines of a pool: how many there were, how soon they worked, what they did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report import words
from tailrace.report.record import AttemptRecord, LeaseRecord
from tailrace.report.timeline import Timeline

LAST = 1000  # finished tasks by which throughput is reckoned (GridBot)
NO_MACHINE = "no_machine"  # a lease whose machine never called
NO_FAILURES = (None, Outcome.SUCCEEDED, Outcome.CANCELLED)
HEAD = ("pool", "most machines", "first task after", "tasks", "as dedicated cores", "failures")
NUMBERS = ("most machines", "tasks", "as dedicated cores")

Stay = tuple[int, int | None]  # of a machine, from when to when; None: it is there still


class PoolWork(msgspec.Struct, frozen=True):
    pool: str
    machines: list[tuple[int, int]]  # since when there are so many
    most: int  # machines at once
    first_task_us: int | None  # from wanting a machine to its first task, the median
    failures: dict[str, int]  # by kind
    finished: int  # tasks
    mean_run_us: int | None  # of the last of them
    dedicated_cores: float | None  # of an imaginary cluster that would have done as much

    @property
    def now(self) -> int:
        """Machines at the end of what is known."""
        return self.machines[-1][1] if self.machines else 0


def pool_work(
    pool: str,
    stays: Iterable[Stay],
    leases: Sequence[LeaseRecord],
    attempts: Sequence[AttemptRecord],
    sent: Sequence[AttemptRecord] | None = None,
    begins_us: int = 0,
) -> PoolWork:
    """`leases` and `attempts`: of this pool. `sent` are all attempts there, where those that are
    told are fewer: all since `begins_us`, in that order."""
    steps = _steps(stays)
    finished = [one for one in attempts if one.accepted and one.outcome == Outcome.SUCCEEDED]
    last = sorted(finished, key=lambda one: one.ended_us or 0)[-LAST:]
    return PoolWork(
        pool,
        steps,
        max((count for _, count in steps), default=0),
        _first_task_us(leases, attempts if sent is None else sent, begins_us),
        _failures(leases, attempts),
        len(finished),
        round(fmean(one.run_us or 0 for one in last)) if last else None,
        _dedicated(last),
    )


def works(timeline: Timeline) -> list[PoolWork]:
    """What the pools did for one bag; machines count while they were there for it."""
    record = timeline.record
    pool_of = {one.host: one.pool for one in record.attempts}
    pool_of |= {one.host: one.pool for one in record.hosts}
    stays = list(zip(timeline.hosts, timeline.presence, strict=True))
    names = dict.fromkeys([*(lease.pool for lease in record.leases), *pool_of.values()])
    return [
        pool_work(
            name,
            [stay for host, spans in stays if pool_of.get(host) == name for stay in spans],
            [lease for lease in record.leases if lease.pool == name],
            [one for one in timeline.attempts if pool_of[one.host] == name],
        )
        for name in sorted(names)
    ]


def cells(one: PoolWork) -> tuple[str, ...]:
    """As the columns of `HEAD`."""
    wait = "" if one.first_task_us is None else words.duration(one.first_task_us)
    failures = ", ".join(f"{count:,} {kind}" for kind, count in one.failures.items()) or "none"
    return one.pool, f"{one.most:,}", wait, f"{one.finished:,}", cores(one), failures


def cores(one: PoolWork) -> str:
    return "" if one.dedicated_cores is None else f"{one.dedicated_cores:.1f}"


def _steps(stays: Iterable[Stay]) -> list[tuple[int, int]]:
    changes: Counter[int] = Counter()
    for came_us, went_us in stays:
        changes[came_us] += 1
        if went_us is not None:
            changes[max(went_us, came_us + 1)] -= 1
    count, steps = 0, []
    for at, change in sorted(changes.items()):
        count += change
        if change:
            steps.append((at, count))
    return steps


def _first_task_us(
    leases: Iterable[LeaseRecord], attempts: Iterable[AttemptRecord], begins_us: int
) -> int | None:
    first: dict[int, int] = {}
    for one in attempts:
        if one.lease is not None:
            first.setdefault(one.lease, one.sent_us)
    waits = [
        first[lease.lease] - lease.wanted_us
        for lease in leases
        if lease.lease in first and lease.wanted_us >= begins_us
    ]
    return round(median(waits)) if waits else None


def _failures(leases: Iterable[LeaseRecord], attempts: Iterable[AttemptRecord]) -> dict[str, int]:
    found = Counter(one.outcome for one in attempts if one.outcome not in NO_FAILURES)
    never = sum(lease.gone_us is not None and lease.up_us is None for lease in leases if lease.why)
    told = {str(outcome): count for outcome, count in sorted(found.items(), key=str)}
    return {**told, **({NO_MACHINE: never} if never else {})}


def _dedicated(last: Sequence[AttemptRecord]) -> float | None:
    """Mean run time times tasks finished in a second, while these finished: so many cores that do
    nothing else, each one task at a time, would have kept step."""
    ends = [one.ended_us for one in last if one.ended_us is not None]
    if len(ends) < 2 or ends[-1] == ends[0]:
        return None
    rate = (len(ends) - 1) / (ends[-1] - ends[0])
    return round(fmean(one.run_us or 0 for one in last) * rate, 3)
