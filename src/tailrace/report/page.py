"""The report: one HTML file that says how a bag went, with nothing to fetch from anywhere."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.quantities import show_size
from tailrace.report import poolwork, words
from tailrace.report.document import document
from tailrace.report.failures import FailureGroup
from tailrace.report.figures import Figure, figures
from tailrace.report.headline import Headline
from tailrace.report.html import Html, html, join, table, tag
from tailrace.report.plans import plans
from tailrace.report.poolwork import PoolWork
from tailrace.report.record import LeaseRecord, Record
from tailrace.report.summary import HostSummary, Spread, Summary, summarise_timeline
from tailrace.report.timeline import Timeline

#: Tables show this many rows; the rest is in the data.
MOST_ROWS = 100


def write_report(record: Record, path: str | os.PathLike[str]) -> Path:
    """Write the page beside its final name and rename it: a reader never sees half a page."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(page(record), encoding="utf-8")
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def page(record: Record) -> str:
    """The whole page as text."""
    timeline = Timeline(record)
    summary = summarise_timeline(timeline)
    body = join(
        [
            _head(record),
            _numbers(record, summary),
            _failures(summary),
            join(_figure(figure) for figure in figures(timeline)),
            plans(record, summary.cost),
            _times(summary),
            _pools(timeline),
            _hosts(record, summary),
            _leases(record),
            _facts(record),
            _data(record),
        ]
    )
    return document(f"{record.name or 'bag'} – tailrace report", body)


def headline(record: Record) -> str:
    return str(
        Headline(
            name=record.name or f"bag {record.bag}",
            count=record.count,
            succeeded=record.succeeded,
            taken=record.taken,
            failed=record.failed,
            state=record.state,
            why=record.reason,
            submitted_us=record.submitted_us,
            ended_us=record.ended_us,
            now_us=record.now_us,
            deadline_us=record.deadline_us,
        )
    )


def _head(record: Record) -> Html:
    line = (
        f"Bag {record.bag}, {record.state}; submitted {words.moment(record.submitted_us)}, "
        f"as of {words.moment(record.now_us)}"
    )
    return tag(
        "header",
        tag("h1", record.name or f"bag {record.bag}"),
        tag("p", headline(record), cls="headline"),
        _bar(record),
        tag("p", line, cls="soft"),
    )


def _bar(record: Record) -> Html:
    """Succeeded, failed and left as one line."""
    total = max(1, record.count)
    good, bad = (min(100, 100 * n / total) for n in (record.succeeded, record.failed))
    return tag(
        "div",
        Html(f'<i class="s" style="width:{good:.3f}%"></i>'),
        Html(f'<i class="f" style="width:{bad:.3f}%"></i>'),
        cls="bar",
    )


def _numbers(record: Record, summary: Summary) -> Html:
    waste = summary.waste
    rows = [
        ("makespan" if summary.finished else "time so far", words.duration(summary.makespan_us)),
        ("throughput", words.rate(summary.throughput)),
        ("median run time", words.duration(summary.run.median_us) if summary.run else "–"),
        ("slots busy", words.share(summary.utilisation)),
        ("slot time used", words.duration(summary.busy_us)),
        ("wasted work", words.share(waste.share) if summary.busy_us else "–"),
        ("attempts", f"{summary.attempts:,}"),
        ("cost", words.money(summary.cost)),
    ]
    if summary.left:
        live = f" ({summary.live:,} sent)" if summary.live else ""
        rows.append(("not done", f"{summary.left:,}{live}"))
    if record.budget:
        rows.append(("budget", words.money(record.budget)))
    if record.deadline_us is not None:
        rows.append(("deadline", words.duration(record.deadline_us)))
    return tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in rows), cls="numbers")


def _figure(figure: Figure) -> Html:
    return tag(
        "figure", tag("h2", figure.title), Html(figure.svg), tag("figcaption", figure.caption)
    )


def _failures(summary: Summary) -> Html:
    if not summary.failures:
        return Html("")
    head = ["attempts", "tasks", "not saved", "outcome", "exit", "last words", "for example"]
    rows = [_failure(group) for group in summary.failures[:MOST_ROWS]]
    return join(
        [
            tag("h2", "What went wrong"),
            table(head, rows, "nnn1nt1"),
            _more(len(summary.failures), "kind of failure", "kinds of failure"),
            tag(
                "p",
                "Alike: same outcome, exit code and last line but for its numbers. "
                "Not saved: tasks for which no other attempt has succeeded.",
                cls="soft",
            ),
        ]
    )


def _failure(group: FailureGroup) -> list[object]:
    example = ", ".join(str(task) for task in group.examples)
    return [
        f"{group.attempts:,}",
        f"{group.tasks:,}",
        f"{group.unsaved:,}",
        str(group.outcome).replace("_", " "),
        "–" if group.exit is None else group.exit,
        tag("code", group.text) if group.text else tag("span", "(nothing said)", cls="soft"),
        f"task {example}" + (", …" if group.tasks > len(group.examples) else ""),
    ]


def _more(total: int, one: str, many: str) -> Html:
    rest = total - MOST_ROWS
    if rest <= 0:
        return Html("")
    return tag("p", f"… and {words.count(rest, one, many)} more", cls="soft")


def _times(summary: Summary) -> Html:
    waste = summary.waste
    spreads = (
        ("run time", summary.run),
        ("turnaround (sent → result here)", summary.turnaround),
        ("waiting (submitted → first sent)", summary.waiting),
    )
    rows = [_spread(name, spread) for name, spread in spreads if spread is not None]
    if not rows:
        return Html("")
    wasted = (
        f"Wasted work: {words.count(waste.attempts, 'attempt')} whose result was not used ran "
        f"{words.duration(waste.us)}, {words.share(waste.share)} of all time slots were busy."
    )
    return join(
        [
            tag("h2", "Times"),
            table(["", "tasks", "mean", "median", "95 % within", "longest"], rows, " nnnnn"),
            tag("p", wasted if waste.attempts else "No work was wasted."),
        ]
    )


def _spread(name: str, spread: Spread) -> list[object]:
    values = (spread.mean_us, spread.median_us, spread.p95_us, spread.max_us)
    return [name, f"{spread.count:,}", *(words.duration(us) for us in values)]


def _pools(timeline: Timeline) -> Html:
    found = poolwork.works(timeline)
    if not found:
        return Html("")
    *head, last = poolwork.HEAD
    rows = [_pool(work) for work in found[:MOST_ROWS]]
    return join(
        [
            tag("h2", "Pools"),
            table([*head, "mean run time", last], rows, " nnnnnt"),
            _more(len(found), "pool", "pools"),
            tag(
                "p",
                "First task after: from wanting a machine until its first task was sent, the "
                "median. As dedicated cores: so many that do nothing else would have done as much "
                f"as the last {poolwork.LAST:,} tasks show.",
                cls="soft",
            ),
        ]
    )


def _pool(work: PoolWork) -> list[object]:
    *cells, failures = poolwork.cells(work)
    mean = "" if work.mean_run_us is None else words.duration(work.mean_run_us)
    return [cell or "–" for cell in (*cells, mean, failures.replace("_", " "))]


def _hosts(record: Record, summary: Summary) -> Html:
    if not summary.hosts:
        return Html("")
    head = ["host", "pool", "kind", "slots", "memory", "attempts", "succeeded", "failed"]
    head += ["booked", "busy", "slots busy"]
    ordered = sorted(summary.hosts, key=lambda host: -host.attempts)
    return join(
        [
            tag("h2", "Hosts"),
            table(head, [_host(h) for h in ordered[:MOST_ROWS]], "   nnnnnnnn"),
            _more(len(summary.hosts), "host", "hosts"),
            tag("p", "Booked: failures laid to the host, not to the task.", cls="soft"),
            *(tag("p", "Excluded: ", note) for note in record.excluded[:MOST_ROWS]),
            *(tag("p", "Taken away: ", note) for note in record.taken_away[:MOST_ROWS]),
        ]
    )


def _host(host: HostSummary) -> list[object]:
    return [
        host.name or host.host,
        host.pool,
        host.kind,
        f"{host.slots:,}",
        show_size(host.memory) if host.memory else "–",
        f"{host.attempts:,}",
        f"{host.succeeded:,}",
        f"{host.failed:,}",
        f"{host.booked_failures:,}",
        words.duration(host.busy_us),
        words.share(host.utilisation),
    ]


def _leases(record: Record) -> Html:
    if not record.leases:
        return Html("")
    names = {host.host: host.name for host in record.hosts}
    ordered = sorted(record.leases, key=lambda lease: (-lease.billed_micro, lease.lease))
    rows = [_lease(lease, names, record.now_us) for lease in ordered[:MOST_ROWS]]
    return join(
        [
            tag("h2", "Leases and bill"),
            table(
                ["lease", "pool", "host", "state", "up for", "units", "price", "billed"],
                rows,
                "n   nn n",
            ),
            _more(len(record.leases), "lease", "leases"),
        ]
    )


def _lease(lease: LeaseRecord, names: dict[str, str], now_us: int) -> list[object]:
    until = now_us if lease.gone_us is None else lease.gone_us
    up = "–" if lease.up_us is None else words.duration(max(0, until - lease.up_us))
    bill = {lease.currency: lease.billed_micro} if lease.billed_micro else {}
    host = "–" if lease.host is None else names.get(lease.host, lease.host)
    units = f"{lease.units:,}"
    state = f"{lease.state}: {lease.why}" if lease.why else lease.state
    return [lease.lease, lease.pool, host, state, up, units, lease.price, words.money(bill)]


def _facts(record: Record) -> Html:
    rows: list[tuple[str, object]] = [
        ("folder", tag("code", record.folder)),
        ("needs of a task", record.needs),
        ("strategies", record.strategies),
        ("submitted", words.moment(record.submitted_us)),
        ("started", words.moment(record.started_us)),
        ("ended", words.moment(record.ended_us)),
    ]
    facts = table(["", ""], [row for row in rows if row[1]], " t")
    return join([tag("h2", "The bag"), tag("pre", record.command), facts])


def _data(record: Record) -> Html:
    results = f"tailrace results {record.bag}"
    lines = f"{results} --csv > results.csv\n{results} --json > results.json"
    return tag(
        "footer",
        tag("h2", "The data"),
        tag("p", "One row per task with parameters, value, outcome, times and cost:"),
        tag("pre", lines),
        tag(
            "p",
            html("Why something happened: "),
            tag("code", f"tailrace explain {record.bag}"),
            cls="soft",
        ),
    )
