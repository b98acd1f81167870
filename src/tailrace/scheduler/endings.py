"""An attempt has ended: in time, late, or by its time-out."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Late
from tailrace.scheduler import blame, brakes, dispatch, leases
from tailrace.scheduler.events import Ended
from tailrace.scheduler.state import Bag, State, Trouble

RAN = (Outcome.SUCCEEDED, Outcome.OVER_LIMIT, Outcome.EXPIRED)  # the host can run this bag's tasks
VANISHED = (Outcome.LOST, Outcome.PREEMPTED)


def ended(state: State, event: Ended) -> None:
    attempt = state.attempts.get(event.attempt)
    bag = state.bags.get(event.bag)
    if bag is None:
        return
    if attempt is None:
        late(state, bag, event)
        return
    dispatch.forget(state, attempt)
    outcome = event.outcome
    if outcome is Outcome.CANCELLED:
        outcome = attempt.dropping or Outcome.LOST
    brakes.end_trial(state, bag, attempt, passed=outcome in RAN)
    if outcome not in VANISHED:
        leases.proven(state, state.hosts[attempt.host].pool)
    if event.index in bag.done or outcome is Outcome.CANCELLED:
        dispatch.close(state, event.attempt, outcome, accepted=False)
        requeue_cancelled(state, bag, event)
        return
    conclude(state, bag, _as(event, outcome))


def _as(event: Ended, outcome: Outcome) -> Ended:
    if outcome is event.outcome:
        return event
    return Ended(event.attempt, event.bag, event.index, event.host, outcome, event.measured)


def late(state: State, bag: Bag, event: Ended) -> None:
    """We had given it up. A success still counts if it is the first, and its pool admits it."""
    host = state.hosts.get(event.host)
    pool = state.pools.get(host.pool) if host else None
    wanted = pool is None or pool.late_results is Late.ACCEPT
    if event.outcome is Outcome.SUCCEEDED and wanted and event.index not in bag.done:
        conclude(state, bag, event)


def conclude(state: State, bag: Bag, event: Ended) -> None:
    """The attempt's end is known and its task has no result yet."""
    dispatch.close(state, event.attempt, event.outcome, accepted=event.outcome is Outcome.SUCCEEDED)
    if event.outcome is Outcome.SUCCEEDED:
        blame.succeeded(state, bag, event)
        dispatch.settle(state, bag, event.index, event.attempt, Outcome.SUCCEEDED)
        return
    trouble = bag.troubles.get(event.index)
    if trouble is None:
        trouble = bag.troubles[event.index] = Trouble()
        trouble.sent = 1
    consequence = {
        Outcome.TASK_FAILED: blame.task_failed,
        Outcome.OVER_LIMIT: blame.over_limit,
        Outcome.PREEMPTED: blame.preempted,
    }.get(event.outcome, blame.counted)
    consequence(state, bag, event, trouble)


def requeue_cancelled(state: State, bag: Bag, event: Ended) -> None:
    """Cancelled with its bag, which may be resumed: the task is as if never sent."""
    if event.index in bag.done or event.index in bag.live:
        return
    trouble = bag.troubles.setdefault(event.index, Trouble())
    trouble.sent = max(trouble.sent, 1)
    dispatch.requeue(state, bag, event.index, trouble, "its bag was cancelled")


def timed_out(state: State, number: int) -> None:
    """Provisional while its session lives: another is sent beside it, and the first result counts.
    Where two at once would do harm, this one is ended first."""
    attempt = state.attempts.get(number)
    if attempt is None or attempt.dropping is not None or attempt.expired:
        return
    bag = state.bags[attempt.bag]
    if not bag.terms.repeatable:
        dispatch.drop(state, attempt, Outcome.EXPIRED, "its time-out passed")
        return
    attempt.expired = True
    trouble = bag.troubles.setdefault(attempt.index, Trouble())
    trouble.sent = max(trouble.sent, 1)
    trouble.counts[Outcome.EXPIRED] = trouble.counts.get(Outcome.EXPIRED, 0) + 1
    if trouble.counts[Outcome.EXPIRED] <= bag.terms.retries.expired:
        why = f"expired on {attempt.host}"
        dispatch.requeue(state, bag, attempt.index, trouble, why, (attempt.host,))
    else:
        dispatch.drop(state, attempt, Outcome.EXPIRED, "its time-out passed, the last allowed")
