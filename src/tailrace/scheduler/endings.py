"""An attempt has ended: in time, late, or by its time-out."""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.policy.attributes import MOST_REPLICAS
from tailrace.pools.terms import Late
from tailrace.scheduler import blame, brakes, dispatch, facts, leases, money, patience, records
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import Close
from tailrace.scheduler.events import Ended
from tailrace.scheduler.state import Bag, Host, State, Trouble

SUCCEEDED, CANCELLED = Outcome.SUCCEEDED, Outcome.CANCELLED  # looked up for every attempt
RAN = (SUCCEEDED, Outcome.OVER_LIMIT, Outcome.EXPIRED)  # the host can run this bag's tasks
VANISHED = (Outcome.LOST, Outcome.PREEMPTED)
TELLS_NOTHING = (*VANISHED, CANCELLED)  # of whether the host can run anything
OF_THE_TASK = (Outcome.TASK_FAILED, Outcome.OVER_LIMIT)


def ended(state: State, event: Ended) -> None:
    bag, attempt = state.bags.get(event.bag), state.attempts.get(event.attempt)
    if bag is None or attempt is None:
        late(state, bag, event)
        return
    host, outcome, replication = state.hosts[attempt.host], event.outcome, bag.replication
    dispatch.forget(state, bag, host, attempt)
    if replication is not None:
        replication.over(state, bag, attempt, outcome is SUCCEEDED)
    host.preempted += outcome is Outcome.PREEMPTED
    if host.retired and not host.live:
        leases.emptied(state, host)
    if outcome is not SUCCEEDED or attempt.expired:
        outcome = _in_our_books(state, host, attempt, event)
        attempt.ran_us = event.measured.run_us
        records.fell_short(state, host, attempt, outcome)
    if replication is not None:
        replication.ended(state, bag, attempt, outcome)
    if bag.trials.get(host.kind) is not None:
        brakes.end_trial(state, bag, host, attempt, passed=outcome in RAN)
    if attempt.lease and outcome is SUCCEEDED:
        money.pay_result(state, bag, attempt, event.measured.run_us)
    if not host.proven and outcome not in TELLS_NOTHING and not event.measured.unmade:
        leases.proven(state, host)
    # One that is wanted is of a task without a result, unless losers are kept.
    wanted = attempt.dropping is None and not bag.keeps_losers
    if not wanted and attempt.index in bag.done:
        dispatch.close(state, attempt.attempt, outcome, accepted=False)
    elif outcome is SUCCEEDED:
        records.returned(state, host, attempt, event.measured.run_us)
        succeed(state, bag, event)
    else:
        _fall_short(state, bag, attempt, replace(event, outcome=outcome))


def _in_our_books(state: State, host: Host, attempt: Attempt, event: Ended) -> Outcome:
    """One we dropped ended as we meant it to, also when its worker ended before it heard of that;
    one cancelled unasked was handed back, unless it had run, or was left as an earlier one of its
    task; a success past its time-out may count for nothing."""
    reported = event.outcome
    if reported in VANISHED and attempt.dropping is CANCELLED:
        return CANCELLED
    if reported is CANCELLED:
        begun = event.measured.run_us or _left_again(state, attempt, event)
        return attempt.dropping or (Outcome.LOST if begun else CANCELLED)
    if reported is SUCCEEDED and attempt.expired and not late_counts(state, host):
        return Outcome.EXPIRED
    return reported


def _left_again(state: State, attempt: Attempt, event: Ended) -> bool:
    """That a worker leaves and has not heard of what it was sent is a chance which costs nothing,
    once. Whoever says so of one task again is not believed: there would be no end to it."""
    trouble = state.bags[attempt.bag].troubles.get(attempt.index)
    return event.measured.unheard and trouble is not None and trouble.at_once


def late_counts(state: State, host: Host | None) -> bool:
    pool = state.pools.get(host.pool) if host else None
    return pool is None or pool.late_results is Late.ACCEPT


def late(state: State, bag: Bag | None, event: Ended) -> None:
    """We had given it up. A success still counts if it is the first, and its pool admits it. A task
    that was sent and has no result is out, or has had trouble."""
    if bag is None or event.attempt >= state.next_attempt or event.outcome is not SUCCEEDED:
        return
    if event.index not in bag.live and event.index not in bag.troubles:
        return
    if event.index not in bag.done and late_counts(state, state.hosts.get(event.host)):
        succeed(state, bag, event)


def succeed(state: State, bag: Bag, event: Ended) -> None:
    """The first success of a task is its result."""
    number = event.attempt
    state.out.append(Close(number, SUCCEEDED, True))
    blame.succeeded(state, bag, event)
    dispatch.settle(state, bag, event.index, number, SUCCEEDED)


def _fall_short(state: State, bag: Bag, attempt: Attempt, event: Ended) -> None:
    """It has ended without a result, and its task has none yet."""
    dispatch.close(state, event.attempt, event.outcome, accepted=False)
    trouble = _trouble_of(bag, event.index)
    if attempt.expired:
        trouble.expired = tuple(one for one in trouble.expired if one != attempt.attempt)
    if event.outcome is CANCELLED and attempt.dropping:
        _as_if_never_sent(state, bag, event.index, trouble, "its bag was cancelled")
    elif attempt.expired and event.outcome not in OF_THE_TASK:
        if event.outcome is Outcome.EXPIRED and event.measured.run_us:
            patience.lengthen(state, bag, attempt, trouble)
        blame.again_or_settle(state, bag, event, trouble)  # its time-out has been booked
    elif event.outcome is CANCELLED:
        told = event.measured.text or "not started"
        trouble.at_once = trouble.at_once or event.measured.unheard
        _as_if_never_sent(state, bag, event.index, trouble, f"handed back by {event.host}: {told}")
    elif not trouble.at_once and _vanished_unbegun(attempt, event):
        _vanished_ahead(state, bag, event, trouble)
    else:
        blame.consequence(state, bag, event, trouble)


def _vanished_unbegun(attempt: Attempt, event: Ended) -> bool:
    """Sent ahead of what its host runs at once, and the host is gone: who knows if it had begun?"""
    if event.outcome not in VANISHED or event.measured.run_us or attempt.needs is not None:
        return False
    return attempt.ahead


def _vanished_ahead(state: State, bag: Bag, event: Ended, trouble: Trouble) -> None:
    """It costs nothing. But if its host was lost, it is not sent ahead again: a task that kills its
    hosts is then found among the few that can have begun."""
    trouble.at_once = trouble.at_once or event.outcome is Outcome.LOST
    why = f"{event.outcome} with {event.host}, sent ahead"
    dispatch.requeue(state, bag, event.index, trouble, why, trouble.failed_on())


def _trouble_of(bag: Bag, index: int) -> Trouble:
    return bag.troubles.get(index) or bag.troubles.setdefault(index, Trouble(sent=1))


def _as_if_never_sent(state: State, bag: Bag, index: int, trouble: Trouble, why: str) -> None:
    """Cancelled with its bag, which may be resumed; or handed back before it began."""
    if index in bag.requeue.waiting:  # it had expired before: that much is over
        dispatch.remember(state, bag, index, trouble)
    else:
        dispatch.requeue(state, bag, index, trouble, why, trouble.avoid)


def timed_out(state: State, number: int) -> None:
    """Provisional while its session lives: another is sent beside it, and the first result counts;
    the last allowed is ended, unless its time was only a guess. Where two at once would do harm,
    this one is ended first."""
    attempt = state.attempts.get(number)
    if attempt is None or attempt.dropping is not None or attempt.expired:
        return
    bag = state.bags[attempt.bag]
    if bag.repeats(attempt.index) and attempt.index not in bag.done:
        _expire(state, bag, attempt)
    else:
        dispatch.drop(state, attempt, Outcome.EXPIRED, "its time-out passed")


def _expire(state: State, bag: Bag, attempt: Attempt) -> None:
    attempt.expired = True
    records.expired(state, state.hosts[attempt.host])
    dispatch.less_out(state, bag)
    trouble = _trouble_of(bag, attempt.index)
    trouble.expired = (*trouble.expired, attempt.attempt)
    trouble.book(Outcome.EXPIRED)
    last = blame.exhausted(bag, trouble) is not None
    if (last and not bag.guesses) or not late_counts(state, state.hosts[attempt.host]):
        told = "its time-out passed" + (", the last allowed" if last else "")
        dispatch.drop(state, attempt, Outcome.EXPIRED, told)
    if bag.rules is not None:
        _make_room(state, bag, attempt.index)
    if last:
        dispatch.remember(state, bag, attempt.index, trouble)
        if bag.replication is not None:
            bag.replication.tries_surely(state, bag, attempt.index)
    else:
        why = f"expired on {attempt.host}"
        dispatch.requeue(state, bag, attempt.index, trouble, why, (attempt.host,))


def _make_room(state: State, bag: Bag, index: int) -> None:
    """What has expired runs on. Of as many at once as a policy can look at, the oldest goes, so
    that the task has not to wait for those that may never end."""
    running = facts.running(bag, index)
    expired = [one for one in running if one.expired]
    if expired and len(running) >= MOST_REPLICAS:
        told = f"its time-out passed, and {len(running) - 1} others of its task run"
        dispatch.drop(state, expired[0], Outcome.EXPIRED, told)
