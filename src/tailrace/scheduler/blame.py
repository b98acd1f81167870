"""Whose fault was it? What follows from each way an attempt can end.

A non-zero exit is provisional: the next attempt goes to another host. Success there books the
failure on the first host; the same failure there books it on the task. With no other host to ask,
the task is to blame.
"""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.bag.needs import fits
from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Growth
from tailrace.knowledge.blackhole import improbable
from tailrace.scheduler import brakes, dispatch
from tailrace.scheduler.decisions import Exclude, Remember
from tailrace.scheduler.events import Ended, Measured
from tailrace.scheduler.rows import Failure
from tailrace.scheduler.state import Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm

MOST_UNSETTLED = 3
EXCLUDE_US = 60_000_000
MOST_DOUBLINGS = 10
PREEMPTIONS_TOLD = 3


def succeeded(state: State, bag: Bag, event: Ended) -> None:
    brakes.note_success(bag)
    bag.times.add(event.measured.run_us)
    host = state.hosts.get(event.host)
    if host is not None:
        host.succeeded += 1
        host.probing = False
    trouble = bag.troubles.get(event.index)
    for failure in trouble.unsettled if trouble else ():
        if failure.host != event.host:
            book_on_host(state, failure.host, f"task {event.index} succeeded elsewhere")


def task_failed(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    brakes.note_failure(state, bag, event.measured)
    found = Failure(event.host, brakes.sign(event.measured))
    alike = any(f.sign == found.sign and f.host != found.host for f in trouble.unsettled)
    trouble.unsettled.append(found)
    if bag.terms.retries.task_failed > 0 and not alike and _can_ask_another(state, bag, trouble):
        dispatch.requeue(state, bag, event.index, trouble, _told(event), trouble.avoid())
        return
    avoid = trouble.avoid()
    _book(trouble, Outcome.TASK_FAILED, len(trouble.unsettled))
    trouble.unsettled.clear()
    again_or_settle(state, bag, event, trouble, avoid)


def _can_ask_another(state: State, bag: Bag, trouble: Trouble) -> bool:
    asked, needs = trouble.avoid(), trouble.needs or bag.terms.needs
    few = len(trouble.unsettled) < MOST_UNSETTLED
    return few and dispatch.another_takes(state, bag, needs, asked)


def over_limit(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """With `on_over_limit` the limit grows until its ceiling; growing costs no retry."""
    growth, limit = bag.terms.growth, event.measured.limit
    if growth is not None and limit in growth.grow and _grow(state, bag, trouble, limit):
        dispatch.requeue(state, bag, event.index, trouble, f"over its {limit} limit, now larger")
        return
    _book(trouble, Outcome.OVER_LIMIT, 1)
    again_or_settle(state, bag, event, trouble)


def _grow(state: State, bag: Bag, trouble: Trouble, limit: str) -> bool:
    """False when the ceiling is reached, or no host is large enough for more."""
    limits, needs = trouble.limits or bag.terms.limits, trouble.needs or bag.terms.needs
    field = "time_us" if limit == "time" else limit
    old = getattr(limits, field)
    new = _larger(old, bag.terms.growth or Growth(), limit)
    if limit in needs:
        needs = {**needs, limit: max(new, needs[limit])}
    if new <= old or not any(fits(needs, host.capacity) for host in state.hosts.values()):
        return False
    trouble.limits = replace(limits, **{field: new})
    trouble.needs = needs if needs != bag.terms.needs else None
    return True


def _larger(old: int, growth: Growth, limit: str) -> int:
    new = int(old * growth.factor)
    return min(new, growth.most.get(limit, new))


def counted(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """Host failed, lost, expired: forgiven as often as the bag says."""
    _book(trouble, event.outcome, 1)
    if event.outcome is Outcome.HOST_FAILED:
        book_on_host(state, event.host, event.measured.text or "it could not run a task")
    again_or_settle(state, bag, event, trouble, (event.host,))


def preempted(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """Never eats a retry; who is preempted again and again belongs on a reliable pool."""
    _book(trouble, Outcome.PREEMPTED, 1)
    times = trouble.counts[Outcome.PREEMPTED]
    told = f"preempted on {event.host}"
    if times >= PREEMPTIONS_TOLD:
        told += f" ({times} times: wanted on a reliable pool)"
    dispatch.requeue(state, bag, event.index, trouble, told)


def again_or_settle(
    state: State, bag: Bag, event: Ended, trouble: Trouble, avoid: tuple[str, ...] = ()
) -> None:
    allowed = bag.terms.retries.allowed(event.outcome)
    if allowed is None or trouble.counts.get(event.outcome, 0) <= allowed:
        dispatch.requeue(state, bag, event.index, trouble, _told(event), avoid)
    elif not any(not other.expired for other in bag.live.get(event.index, ())):
        dispatch.settle(state, bag, event.index, event.attempt, event.outcome)


def _book(trouble: Trouble, outcome: Outcome, times: int) -> None:
    trouble.counts[outcome] = trouble.counts.get(outcome, 0) + times


def _told(event: Ended) -> str:
    what = f"{event.outcome.replace('_', ' ')} on {event.host}"
    return f"{what} ({_detail(event.measured)})" if _detail(event.measured) else what


def _detail(measured: Measured) -> str:
    parts = [f"exit {measured.exit}" if measured.exit else "", measured.limit, measured.text[:120]]
    return ", ".join(part for part in parts if part)


def book_on_host(state: State, host_id: str, why: str) -> None:
    host = state.hosts.get(host_id)
    if host is None:
        return
    host.booked += 1
    state.out.append(Remember(host.row()))
    if host.probing or _improbable(state, host):
        exclude(state, host, why)


def _improbable(state: State, host: Host) -> bool:
    others = [other for other in state.hosts.values() if other is not host]
    booked = sum(other.booked for other in others)
    runs = sum(other.booked + other.succeeded for other in others)
    return improbable(host.booked, host.booked + host.succeeded, booked, runs)


def exclude(state: State, host: Host, why: str) -> None:
    """For a time that doubles, never the last host."""
    if not dispatch.another_host(state, (host.id,)):
        return
    until = state.now + EXCLUDE_US * 2 ** min(host.exclusions, MOST_DOUBLINGS)
    host.exclusions += 1
    host.excluded_until_us = until
    host.probing = False
    told = f"{host.booked} failures booked on it, the last: {why}"
    state.out.append(Exclude(host.id, until, told))
    state.out.append(Remember(host.row()))
    state.timers.set(until, Alarm.READMIT, host.id)


def readmit(state: State, host: Host) -> None:
    if host.excluded_until_us and state.now >= host.excluded_until_us:
        host.probing = True
        state.supply = True
