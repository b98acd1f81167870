"""`tailrace simulate RUN --until T`: back to a moment of a recorded run, by its journal.

`tailrace replay` goes through the same journal to its end and asks whether each decision comes out
the same; here it stops on the way and tells how everything stood.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from tailrace.cli import screen
from tailrace.cli.bags.choosing import choose
from tailrace.cli.commands import explain
from tailrace.cli.stored import stored
from tailrace.cli.virtual import moment, stepping
from tailrace.cli.virtual.snapshot import HostThen, LeaseThen, MoneyThen, Then, snapshot
from tailrace.errors import BadInput
from tailrace.report import words
from tailrace.scheduler.decisions import AnyDecision, Close, Remember
from tailrace.scheduler.journal import Replay
from tailrace.server.records import attempts, reading
from tailrace.server.records.reading import BagFacts
from tailrace.server.tables.link import Link

DECISIONS = 10  # so many of the last ones are shown
MOMENTS = ("ends_us", "until_us")  # of decisions
NAMING = ("attempt", "bag", "index")  # what one speaks of, if it is an attempt
HOSTS = ("host", "pool", "state", "holds", "tasks", "booked", "why")
LEASES = ("lease", "pool", "bag", "state", "host", "lasted", "ends in", "cost")


class Decided(msgspec.Struct, frozen=True):
    at_us: int
    decision: AnyDecision
    attempt: str = ""  # as people count: `2 of task 1/17`


class Arrival(msgspec.Struct, frozen=True):
    """Where the journey ended."""

    submitted_us: int
    at_us: int  # the moment asked for, or the end of the journal
    past_end: bool
    events: int  # up to then
    last_us: int  # of the last of them
    next_us: int | None  # of the first that comes after
    then: Then
    decisions: list[Decided]
    explained: list[str]


def command(
    runs: tuple[Path, ...],
    until: str | None,
    bag: str | None,
    subject: str | None,
    *,
    as_json: bool,
) -> int:
    """`.`, or no run at all, is that of this folder."""
    if until is None:
        raise click.UsageError("--explain needs --until: it tells how things stood then")
    if len(runs) > 1 or any(run.is_file() for run in runs):
        raise click.UsageError("--until takes one run: the folder in which it was run")
    if runs and not runs[0].exists():
        raise BadInput(f"there is no folder {runs[0]}", remedy="Name one in which a bag was run.")
    arrival = travel(runs[0] if runs else None, until, bag, subject)
    show_json(arrival) if as_json else show(arrival)
    return 0


def travel(run: Path | None, until: str, bag: str | None, subject: str | None) -> Arrival:
    with stored(run) as here:
        facts = choose(here, bag)
        last_us = reading.last_moment(here.link, facts.bag)
        at_us = moment.moment_us(until, facts.submitted_us, last_us)
        replay = stepping.replay_of(here.link)
        about = None if subject is None else explain.subject_of(here, subject, bag)
        arrival = _arrive(replay, facts, at_us, about)
        return replace(arrival, decisions=[_named(here.link, one) for one in arrival.decisions])


def _named(link: Link, one: Decided) -> Decided:
    number = getattr(one.decision, "attempt", None)
    return one if number is None else replace(one, attempt=attempts.named(link, number))


def _arrive(replay: Replay, facts: BagFacts, at_us: int, about: str | None) -> Arrival:
    last: deque[Decided] = deque(maxlen=DECISIONS)
    events, last_us = 0, 0
    for step in stepping.steps(replay, at_us):
        events, last_us = events + 1, step.now
        last.extend(Decided(step.now, one) for one in step.decisions if _tells(one))
    state = replay.scheduler.state
    if facts.bag not in state.bags:
        raise _too_early(replay, facts, at_us)
    past_end = replay.next_us is None and at_us > last_us
    at_us = last_us if past_end else at_us
    explained = [] if about is None else replay.scheduler.explain(about, at_us)
    then = snapshot(state, replay.leases, facts.bag, at_us)
    return Arrival(facts.submitted_us, at_us, past_end, events, last_us, replay.next_us, then,
                   list(last), explained)  # fmt: skip


def _tells(one: AnyDecision) -> bool:
    """Rows to store say nothing new, nor does the end of an attempt whose result was taken."""
    return not (isinstance(one, Remember) or (isinstance(one, Close) and one.accepted))


def _too_early(replay: Replay, facts: BagFacts, at_us: int) -> BadInput:
    if replay.began_us is None:
        return stepping.no_journal()
    asked, came = words.moment(at_us)[:19], words.moment(facts.submitted_us)[:19]
    if replay.began_us > at_us:
        began = moment.shown(replay.began_us, facts.submitted_us)
        told = f"the journal begins only {began}"
        if replay.began_us <= facts.submitted_us:
            told = f"the journal begins at {words.moment(replay.began_us)[:19]}"
        return BadInput(f"{asked} is too early: {told}", remedy="Ask for a later moment.")
    return BadInput(
        f"bag {facts.bag} was not there at {asked}: it was submitted at {came}",
        remedy="Ask for a later moment, or for another bag with --bag.",
    )


# what is printed


def show(arrival: Arrival) -> None:
    for line in _lines(arrival):
        click.echo(screen.plain(line))
    hosts = [_host(host, arrival.at_us) for host in arrival.then.hosts]
    leases = [_lease(lease, arrival.at_us) for lease in arrival.then.leases]
    _table(HOSTS, hosts, right=("holds", "booked"))
    _table(LEASES, leases, right=("lasted", "ends in", "cost"))
    for line in (*_decided(arrival), *arrival.explained):
        click.echo(screen.plain(line))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], right: tuple[str, ...]) -> None:
    if rows:
        screen.print_table(screen.table(head, rows, right))


def _lines(arrival: Arrival) -> Iterator[str]:
    bag = arrival.then.bag
    yield f"bag {bag.bag} ({bag.name}), {moment.shown(arrival.at_us, arrival.submitted_us)}"
    if arrival.past_end:
        yield "The journal ends here; later than that, nothing was recorded."
    yield f"  {bag.phase}{f': {bag.why}' if bag.why else ''}"
    yield (
        f"  {words.count(bag.tasks, 'task')}: {bag.done:,} done ({bag.failed:,} failed), "
        f"{bag.left:,} left: {words.count(bag.live, 'attempt')} out, {bag.waiting:,} waiting for "
        f"another, {bag.unsent:,} never sent"
    )
    yield from (f"  {_money(one)}" for one in arrival.then.money)
    yield f"  {_events(arrival)}"
    if arrival.then.alarm is not None:
        alarm = arrival.then.alarm
        yield f"  next alarm: in {words.duration(alarm.at_us - arrival.at_us)}, {alarm.what}"
    for other in arrival.then.others:
        yield f"  beside it bag {other.bag} ({other.name}): {other.phase}, {other.left:,} left"


def _money(one: MoneyThen) -> str:
    of = "" if one.budget is None else f" of {one.budget:g} {one.currency}"
    return f"{one.spent:g} {one.currency} spent{of}, {one.committed:g} more bound in leases"


def _events(arrival: Arrival) -> str:
    before = words.duration(arrival.at_us - arrival.last_us)
    told = f"{words.count(arrival.events, 'event')}, the last {before} before"
    if arrival.next_us is None:
        return told
    return f"{told}, the next {words.duration(arrival.next_us - arrival.at_us)} after"


def _host(host: HostThen, at_us: int) -> tuple[str, ...]:
    state = host.state
    if host.excluded_until_us is not None:
        state += f" for {words.duration(host.excluded_until_us - at_us)} more"
    tasks = ", ".join(f"{one.bag}/{one.task}" for one in host.holds[:8])
    more = ", …" if len(host.holds) > 8 else ""
    return (host.host, host.pool, state, f"{len(host.holds)}", tasks + more, f"{host.booked}",
            host.why)  # fmt: skip


def _lease(lease: LeaseThen, at_us: int) -> tuple[str, ...]:
    gone = lease.state == "gone"
    cost = f"{lease.spent:g} {lease.currency}" if lease.spent else "0"
    lasted, ends = at_us - lease.wanted_us, lease.ends_us - at_us
    return (f"{lease.lease}", lease.pool, f"{lease.bag}", lease.state, lease.host,
            "" if gone else words.duration(lasted), "" if gone else words.duration(ends),
            cost)  # fmt: skip


def _decided(arrival: Arrival) -> Iterator[str]:
    if arrival.decisions:
        yield "last decisions:"
    for one in arrival.decisions:
        before = words.duration(arrival.at_us - one.at_us)
        yield f"  {before} before: {_text(one)}"


def _text(one: Decided) -> str:
    """`Assign attempt 1 of task 1/6, host alder-1, why first attempt`."""
    fields: dict[str, Any] = msgspec.structs.asdict(one.decision)
    if one.attempt:
        fields = {"attempt": one.attempt} | {k: v for k, v in fields.items() if k not in NAMING}
    said = (_field(name, value, one.at_us) for name, value in fields.items() if value is not None)
    return screen.short(f"{type(one.decision).__name__} {', '.join(said)}", 200)


def _field(name: str, value: Any, at_us: int) -> str:
    """Moments as seen from the decision: `ends 1 h later`; durations as such: `timeout 2 h`."""
    plain = name.removesuffix("_us")
    if name in MOMENTS:
        return f"{plain} {words.duration(value - at_us)} later"
    return f"{name} {value}" if plain == name else f"{plain} {words.duration(value)}"


def show_json(arrival: Arrival) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(arrival), indent=2).decode())
