"""From the tables to the record a report is made of."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.bag import needs, strategies
from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Terms
from tailrace.knowledge.inquiry import Plan, said
from tailrace.report import words
from tailrace.report.record import AttemptRecord, HostRecord, LeaseRecord, PlanRecord, Record
from tailrace.report.spans import Span
from tailrace.scheduler.rows import HostRow, LeaseRow
from tailrace.server.records import bills, phases, reading
from tailrace.server.tables.link import Link, stream


class Brief(msgspec.Struct, frozen=True):
    """Of what a worker reported, only this: outputs may be long."""

    cpu_us: int = 0
    memory: int = 0
    stderr: str = ""
    error: str = ""

    def text(self) -> str:
        last = self.error or self.stderr.rstrip().rpartition("\n")[2]
        return last.strip()[:400]


_brief = msgspec.json.Decoder(Brief).decode
_host_row = msgspec.json.Decoder(HostRow).decode


def record(link: Link, bag: int, now_us: int | None = None) -> Record:
    """`now_us` is given when a server runs; without one, the last thing that happened is now."""
    row, content = reading.bag_row(link, bag), reading.content(link, bag)
    facts = reading.bag(link, bag)
    leases = bills.leases(link, bag)
    hosts = {host.host: host for host in _host_rows(link)}
    attempts = list(_attempts(link, bag, hosts))
    now = _last_moment(link, bag, attempts) if now_us is None else now_us
    return Record(
        bag=bag,
        name=row.terms.name,
        state=phases.phase(facts, served=now_us is not None),
        reason=phases.reason(facts),
        count=row.terms.count,
        submitted_us=row.submitted_us,
        started_us=min((a.sent_us for a in attempts), default=None),
        ended_us=row.ended_us,
        now_us=now,
        done=facts.done,
        succeeded=facts.succeeded,
        taken=facts.taken,
        failed=facts.failed,
        budget=dict(row.terms.budget),
        deadline_us=row.terms.deadline_us,
        attempts=attempts,
        hosts=_hosts(link, bag, row.terms, leases, now),
        leases=[lease(row, now_us) for row in leases],
        command=command_of(content.spec.command, content.count and content.text(0)),
        folder=content.spec.folder,
        needs=needs.describe(row.terms.needs),
        strategies=strategies.unusual(row.terms),
        excluded=list(_excluded(link, bag)),
        taken_away=list(_taken_away(link, bag)),
        plans=list(_plans(link, bag, row.submitted_us)),
    )


class _Planned(Plan, frozen=True):
    """As the feed tells it."""

    spent: int = 0


_planned = msgspec.json.Decoder(_Planned).decode


def _plans(link: Link, bag: int, since_us: int) -> Iterator[PlanRecord]:
    query = "SELECT body FROM feed WHERE bag = ? AND kind = 'plan' ORDER BY n"
    for (body,) in stream(link, query, (bag,)):
        plan = _planned(body)
        yield PlanRecord(
            at_us=since_us + plan.at_us,
            strategy=said(plan),
            left=plan.left,
            lasts_us=(plan.lasts.mean, plan.lasts.low, plan.lasts.high),
            costs_micro=(plan.costs.mean, plan.costs.low, plan.costs.high),
            currency=plan.currency,
            spent_micro=plan.spent,
        )


def _last_moment(link: Link, bag: int, attempts: list[AttemptRecord]) -> int:
    moments = (a.ended_us or a.sent_us for a in attempts)
    return max(reading.last_moment(link, bag), *moments, 0)


def command_of(command: str | tuple[str, ...], first: str | int) -> str:
    """The template, or the first of listed commands."""
    if not command:
        return f"{first}\n…" if first else ""
    return command if isinstance(command, str) else " ".join(command)


def _attempts(link: Link, bag: int, hosts: dict[str, HostRow]) -> Iterator[AttemptRecord]:
    rows = stream(
        link,
        "SELECT attempt, idx, host, lease, sent_us, ended_us, outcome, exit, run_us, accepted, why,"
        " body FROM attempts WHERE bag = ? ORDER BY attempt",
        (bag,),
    )
    for n, index, host, lease, sent, ended, outcome, code, run, accepted, why, body in rows:
        told = _brief(body) if body else None
        good = outcome in (None, "succeeded")
        yield AttemptRecord(
            attempt=n,
            index=index,
            host=host,
            pool=hosts[host].pool if host in hosts else "",
            lease=lease,
            sent_us=sent,
            ended_us=ended,
            outcome=None if outcome is None else Outcome(outcome),
            exit=code,
            run_us=run,
            cpu_us=told.cpu_us if told else None,
            memory=told.memory if told else None,
            accepted=bool(accepted),
            why=why,
            error="" if good or told is None else told.text(),
        )


def _host_rows(link: Link) -> Iterator[HostRow]:
    for row in link.execute("SELECT row FROM hosts"):
        yield _host_row(row[0])


def _hosts(
    link: Link, bag: int, terms: Terms, leases: list[LeaseRow], now: int
) -> list[HostRecord]:
    """Those that worked for the bag, or were taken for it."""
    used = {
        row[0] for row in link.execute("SELECT DISTINCT host FROM attempts WHERE bag=?", (bag,))
    }
    used |= {lease.host for lease in leases if lease.host}
    rows = link.execute("SELECT row, about, first_seen_us, last_seen_us FROM hosts ORDER BY host")
    found = ((_host_row(row), about, first, last) for row, about, first, last in rows)
    return [
        _host(host, about, terms, (first, last), _up(host.host, leases, now))
        for host, about, first, last in found
        if host.host in used
    ]


def _up(host: str, leases: list[LeaseRow], now: int) -> list[Span]:
    """By its leases: nearer the truth than its few notes, and without the time between two."""
    return [(x.up_us, x.gone_us or now) for x in leases if x.host == host and x.up_us is not None]


def _host(host: HostRow, about: bytes, terms: Terms, seen: Span, up: list[Span]) -> HostRecord:
    told = msgspec.json.decode(about)
    return HostRecord(
        host=host.host,
        name=str(told.get("name") or host.host),
        pool=host.pool,
        kind=host.kind,
        cores=host.capacity.get("cores", 0),
        memory=host.capacity.get("memory", 0),
        slots=needs.times(terms.needs, host.capacity),
        first_seen_us=seen[0],
        last_seen_us=seen[1],
        up=up,
        booked_failures=host.booked,
    )


def lease(row: LeaseRow, now: int | None = None) -> LeaseRecord:
    paid = bills.bill(row, now)
    return LeaseRecord(
        lease=row.lease,
        pool=row.pool,
        host=row.host or None,
        state=row.state,
        why=row.why,
        wanted_us=row.wanted_us,
        up_us=row.up_us,
        gone_us=row.gone_us,
        units=paid.units,
        billed_micro=paid.micros,
        currency=paid.currency,
        price=bills.price(row.billing),
    )


def _taken_away(link: Link, bag: int) -> Iterator[str]:
    query = "SELECT body FROM feed WHERE bag = ? AND kind = 'taken_away' ORDER BY n"
    for (body,) in link.execute(query, (bag,)):
        told = msgspec.json.decode(body)
        yield f"{words.tasks(told['tasks'])}: {told['why']}"


def _excluded(link: Link, bag: int) -> Iterator[str]:
    query = "SELECT at_us, body FROM feed WHERE bag = ? AND kind = 'excluded' ORDER BY n"
    for at, body in link.execute(query, (bag,)):
        told = msgspec.json.decode(body)
        time = words.duration(max(told["until_us"] - at, 0))
        yield f"{told['host']} for {time}: {told['why']}"
