"""The key numbers of a run, from its record: the page, the terminal and scripts show the same."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report.failures import FailureGroup, group_failures
from tailrace.report.record import HostRecord, Record
from tailrace.report.spans import total
from tailrace.report.timeline import LIVE, OUTCOMES, Timeline


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How a duration is distributed, in microseconds."""

    count: int
    mean_us: int
    median_us: int
    p95_us: int
    max_us: int
    total_us: int


class Waste(msgspec.Struct, frozen=True, kw_only=True):
    """Work whose result was not used: failed, lost, second or cancelled attempts that ran."""

    attempts: int
    us: int
    #: Of all the time slots were busy.
    share: float


class HostSummary(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    name: str
    pool: str
    kind: str
    cores: float
    memory: int
    slots: int
    attempts: int
    succeeded: int
    failed: int
    busy_us: int
    present_us: int
    #: Busy time by time its slots were there; None when it was not there at all.
    utilisation: float | None
    booked_failures: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in microseconds, money in micro-units by currency, shares from 0 to 1."""

    count: int
    done: int
    succeeded: int
    failed: int
    left: int
    attempts: int
    #: Attempts sent and not ended: running, or waiting at their host.
    live: int
    finished: bool
    makespan_us: int
    #: Tasks done per second; None when no time has passed.
    throughput: float | None
    run: Spread | None
    waiting: Spread | None
    turnaround: Spread | None
    busy_us: int
    utilisation: float | None
    waste: Waste
    outcomes: dict[str, int]
    cost: dict[str, int]
    hosts: list[HostSummary]
    failures: list[FailureGroup]

    @property
    def hosts_used(self) -> int:
        return sum(1 for host in self.hosts if host.attempts)


def summarise(record: Record) -> Summary:
    return summarise_timeline(Timeline(record))


def summarise_timeline(timeline: Timeline) -> Summary:
    record, span = timeline.record, timeline.span_us
    hosts = host_summaries(timeline)
    there = sum(h.present_us * h.slots for h in hosts)
    busy = int(timeline.busy_us.sum())
    return Summary(
        count=record.count,
        done=record.done,
        succeeded=record.succeeded,
        failed=record.failed,
        left=max(0, record.count - record.done),
        attempts=len(timeline.attempts),
        live=int((timeline.outcome == LIVE).sum()),
        finished=record.ended_us is not None,
        makespan_us=span,
        throughput=record.done * 1e6 / span if span else None,
        run=spread(run_times(timeline)),
        waiting=spread(waiting_times(timeline)),
        turnaround=spread(turnaround_times(timeline)),
        busy_us=busy,
        utilisation=min(1.0, busy / there) if there else None,
        waste=_waste(timeline, busy),
        outcomes=_outcomes(timeline),
        cost=cost_by_currency(record),
        hosts=hosts,
        failures=_failures(timeline),
    )


def run_times(timeline: Timeline) -> Any:
    """Of accepted attempts, measured by their worker."""
    return timeline.run[timeline.accepted & (timeline.run >= 0)]


def turnaround_times(timeline: Timeline) -> Any:
    """Of accepted attempts: from sent to received, by the server's clock."""
    used = timeline.accepted & (timeline.ended >= 0)
    return timeline.ended[used] - timeline.sent[used]


def waiting_times(timeline: Timeline) -> Any:
    """Of tasks: from the bag's submission until the first attempt is sent."""
    import numpy as np

    _, first = np.unique(timeline.index, return_index=True)  # attempts are in order sent
    return np.maximum(timeline.sent[first] - timeline.record.submitted_us, 0)


def spread(values: Any) -> Spread | None:
    import numpy as np

    if not len(values):
        return None
    median, p95 = np.percentile(values, [50, 95])
    return Spread(
        count=len(values),
        mean_us=round(float(values.mean())),
        median_us=round(float(median)),
        p95_us=round(float(p95)),
        max_us=int(values.max()),
        total_us=int(values.sum()),
    )


def cost_by_currency(record: Record) -> dict[str, int]:
    """What leases were billed; only currencies in which anything was."""
    cost: dict[str, int] = {}
    for lease in record.leases:
        if lease.billed_micro:
            cost[lease.currency] = cost.get(lease.currency, 0) + lease.billed_micro
    return dict(sorted(cost.items()))


def host_summaries(timeline: Timeline) -> list[HostSummary]:
    """In order of the record; a host that only attempts speak of is shown by its id."""
    import numpy as np

    n = len(timeline.hosts)
    good = timeline.outcome == OUTCOMES.index(Outcome.SUCCEEDED)
    calm = good | np.isin(timeline.outcome, (LIVE, OUTCOMES.index(Outcome.CANCELLED)))
    columns = (
        np.bincount(timeline.host, minlength=n),
        np.bincount(timeline.host[good], minlength=n),
        np.bincount(timeline.host[~calm], minlength=n),
        np.bincount(timeline.host, weights=timeline.busy_us, minlength=n),
    )
    known = {host.host: host for host in timeline.record.hosts}
    return [
        _host(timeline, i, known.get(name), *(int(column[i]) for column in columns))
        for i, name in enumerate(timeline.hosts)
    ]


def _host(
    timeline: Timeline,
    i: int,
    host: HostRecord | None,
    attempts: int,
    succeeded: int,
    failed: int,
    busy: int,
) -> HostSummary:
    host_id = timeline.hosts[i]
    present = total(timeline.presence[i])
    slots = timeline.slots[i]
    there = present * slots
    return HostSummary(
        host=host_id,
        name=host.name if host else host_id,
        pool=host.pool if host else "",
        kind=host.kind if host else "",
        cores=host.cores / 1000 if host else 0,
        memory=host.memory if host else 0,
        slots=slots,
        attempts=attempts,
        succeeded=succeeded,
        failed=failed,
        busy_us=busy,
        present_us=present,
        utilisation=min(1.0, busy / there) if there else None,
        booked_failures=host.booked_failures if host else 0,
    )


def _waste(timeline: Timeline, busy: int) -> Waste:
    unused = ~timeline.accepted & (timeline.outcome != LIVE)
    us = int(timeline.busy_us[unused].sum())
    return Waste(attempts=int(unused.sum()), us=us, share=us / busy if busy else 0.0)


def _outcomes(timeline: Timeline) -> dict[str, int]:
    import numpy as np

    counts = np.bincount(timeline.outcome, minlength=len(OUTCOMES))
    return {o.value: int(n) for o, n in zip(OUTCOMES, counts, strict=False) if n}


def _failures(timeline: Timeline) -> list[FailureGroup]:
    return group_failures(timeline.attempts, set(timeline.index[timeline.accepted].tolist()))
