"""Whose fault was it? What follows from each way an attempt can end.

A non-zero exit is provisional: the next attempt goes to another host. Success there books the
failure on the first host; the same failure there books it on the task. With no other host to ask,
the task is to blame.
"""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.knowledge.blackhole import improbable
from tailrace.scheduler import admission, brakes, dispatch, doubts, fleet, growing, others, policies
from tailrace.scheduler.decisions import Exclude, Remember, TakenAway
from tailrace.scheduler.events import Ended
from tailrace.scheduler.rows import Failure
from tailrace.scheduler.state import Bag, Host, State, Trouble

MOST_UNSETTLED = 3
MOST_UNABLE = 5
EXCLUDE_US = 60_000_000
MOST_DOUBLINGS = 10
MOST_TOLD = 200
OF_HOSTS = (Outcome.LOST, Outcome.EXPIRED)
EVERY = 16  # results of a host, its record is stored: it must not weigh on all others


def succeeded(state: State, bag: Bag, event: Ended) -> None:
    bag.like_count = 0
    if bag.doubts:
        doubts.clear(state, bag, event.host)
    bag.times.add(event.measured.run_us)
    host = state.hosts.get(event.host)
    if host is not None:
        state.succeeded += 1
        host.succeeded = count = host.succeeded + 1
        host.unable = 0
        if host.probing:
            _probed(state, host)
        elif count % EVERY == 0 or count & (count - 1) == 0:
            state.out.append(Remember(host.row()))
    if bag.troubles and event.index in bag.troubles:
        _failed_elsewhere(state, bag.troubles[event.index], event)


def _failed_elsewhere(state: State, trouble: Trouble, event: Ended) -> None:
    for failure in trouble.unsettled:
        if failure.host != event.host:
            book_on_host(state, failure.host, f"task {event.index} succeeded elsewhere")


def _probed(state: State, host: Host) -> None:
    host.probing, host.probe, host.excluded_until_us = False, 0, 0
    host.why = host.told = ""
    state.out.append(Remember(host.row()))
    state.supply = True


def consequence(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    if event.measured.unmade:
        unmade(state, bag, event, trouble)
    elif event.outcome is Outcome.TASK_FAILED:
        task_failed(state, bag, event, trouble)
    elif event.outcome is Outcome.OVER_LIMIT:
        over_limit(state, bag, event, trouble)
    elif event.outcome is Outcome.PREEMPTED:
        preempted(state, bag, event, trouble)
    else:
        counted(state, bag, event, trouble)


def task_failed(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    found = Failure(event.host, brakes.sign(event.measured))
    alike = any(f.sign == found.sign and f.host != found.host for f in trouble.unsettled)
    trouble.unsettled.append(found)
    asked = trouble.failed_on()
    settled = alike or not _ask_another(state, bag, event.index, trouble)
    if settled:
        trouble.book(Outcome.TASK_FAILED, len(trouble.unsettled))
        brakes.note_settled(bag, trouble.unsettled)
        doubts.settle(state, bag, event.index, trouble.unsettled)
        trouble.unsettled.clear()
    else:
        doubts.note(state, bag, event.index, event.host)
    again_or_settle(state, bag, event, trouble, asked)
    brakes.note_failure(state, bag, event, settled=settled)


def unmade(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """Its host never heard of it, and for no other would it be made: it is not tried again."""
    trouble.book(event.outcome)
    if dispatch.under_way(bag, event.index):
        dispatch.remember(state, bag, event.index, trouble)
    else:
        dispatch.settle(state, bag, event.index, event.attempt, event.outcome)
    brakes.note_failure(state, bag, event, settled=True)


def _ask_another(state: State, bag: Bag, index: int, trouble: Trouble) -> bool:
    if not bag.terms.retries.task_failed or len(trouble.unsettled) >= MOST_UNSETTLED:
        return False
    wants_reliable = admission.wants_reliable(trouble)
    job = () if bag.rules is None else policies.looks(state, bag, index)
    return others.another(state, bag, trouble.failed_on(), trouble.needs, wants_reliable, job)


def over_limit(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """With `on_over_limit` the limit grows until its ceiling; growing costs no retry."""
    grown = growing.grow(state, bag, trouble, event.measured.limit)
    if not grown:
        trouble.book(Outcome.OVER_LIMIT)
    again_or_settle(state, bag, event, trouble)
    if not grown:
        brakes.note_failure(state, bag, event, settled=True)


def counted(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """Host failed, lost, expired: forgiven as often as the bag says."""
    trouble.book(event.outcome)
    again_or_settle(state, bag, event, trouble, (event.host,))
    if event.outcome is Outcome.HOST_FAILED:
        if not event.measured.of_bag:
            _could_not_run(state, event)
        brakes.note_failure(state, bag, event, settled=False)


def _could_not_run(state: State, event: Ended) -> None:
    """Its own word. Again and again without a success, it is believed whatever its record."""
    why, told = f"it could not run a task of bag {event.bag}", event.measured.text
    book_on_host(state, event.host, why, event.bag, told)
    host = state.hosts[event.host]
    host.unable += 1
    if host.unable >= MOST_UNABLE:
        exclude(state, host, why, event.bag, told)


def preempted(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """Never eats a retry; who is preempted again and again is wanted on a reliable pool, and its
    owner is told when that begins."""
    trouble.book(Outcome.PREEMPTED)
    again_or_settle(state, bag, event, trouble)
    times = trouble.counts[Outcome.PREEMPTED]
    if times == admission.MOST_PREEMPTIONS and event.index not in bag.done:
        why = f"taken away {times} times, wanted on a reliable pool from now on"
        state.out.append(TakenAway(bag.id, event.index, why + _but(state, bag)))


def _but(state: State, bag: Bag) -> str:
    if others.keeps_to_reliable(state, bag):
        return ""
    if others.has_reliable_pool(state, bag):
        return "; but its strategy of replication says where it goes"
    return "; until the bag has one, it may go anywhere"


def again_or_settle(
    state: State, bag: Bag, event: Ended, trouble: Trouble, avoid: tuple[str, ...] = ()
) -> None:
    fate = exhausted(bag, trouble)
    if fate is None:
        dispatch.requeue(state, bag, event.index, trouble, _told(event, trouble), avoid)
    elif dispatch.may_succeed(bag, event.index) or _sent_surely(state, bag, event.index, fate):
        dispatch.remember(state, bag, event.index, trouble)
    else:
        dispatch.settle(state, bag, event.index, event.attempt, fate)


def _sent_surely(state: State, bag: Bag, index: int, fate: Outcome) -> bool:
    """It may have been the fault of the hosts alone."""
    if fate not in OF_HOSTS or bag.replication is None:
        return False
    return bag.replication.tries_surely(state, bag, index)


def exhausted(bag: Bag, trouble: Trouble) -> Outcome | None:
    """The outcome that has come more often than the bag forgives."""
    for name, times in trouble.counts.items():
        allowed = bag.terms.retries.allowed(Outcome(name))
        if allowed is not None and times > allowed:
            return Outcome(name)
    return None


def _told(event: Ended, trouble: Trouble) -> str:
    told = f"{brakes.failed_how(event, briefly=True)} on {event.host}"
    times = trouble.counts.get(Outcome.PREEMPTED, 0)
    if event.outcome is Outcome.PREEMPTED and times >= admission.MOST_PREEMPTIONS:
        told += f", {times} times now: wanted on a reliable pool"
    return told


def book_on_host(state: State, host_id: str, why: str, bag: int = 0, told: str = "") -> None:
    host = state.hosts.get(host_id)
    if host is None:
        return
    state.booked += 1
    host.booked += 1
    state.out.append(Remember(host.row()))
    if host.probing or _improbable(state, host):
        exclude(state, host, why, bag, told)


def _improbable(state: State, host: Host) -> bool:
    others = state.booked - host.booked
    others_runs = others + state.succeeded - host.succeeded
    return improbable(host.booked, host.booked + host.succeeded, others, others_runs)


def exclude(state: State, host: Host, why: str, bag: int = 0, told: str = "") -> None:
    """For a time that doubles, never the last host. `why` is told to everybody, `told` is not."""
    if host.excluded or fleet.is_last(state, host):
        return
    until = state.now + EXCLUDE_US * 2 ** min(host.exclusions, MOST_DOUBLINGS)
    host.exclusions += 1
    host.why = f"{host.booked} failures booked on it, the last: {why}"
    host.told = told[:MOST_TOLD]
    fleet.exclude(state, host, until)
    state.out.append(Exclude(host.id, until, host.why, bag, host.told))
    state.out.append(Remember(host.row()))
