"""The life of an attempt: taken from the queue, sent, dropped, closed; and of a task: settled."""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.bag.needs import Amounts, fits, times
from tailrace.bag.outcome import Outcome
from tailrace.scheduler import brakes
from tailrace.scheduler.bits import Bits
from tailrace.scheduler.bundling import held_at_most
from tailrace.scheduler.decisions import Assign, Close, Drop, Remember, Reopen, Settle
from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import Attempt, Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm


def room(state: State, bag: Bag, host: Host) -> int:
    """How many more tasks of this bag the host may be sent now.

    Attempts ahead of what can run are sent only to a host that holds nothing but this bag's: with
    mixed needs nobody could say which of them would run next.
    """
    if host.offer is None or not admitted(state, bag, host):
        return 0
    if brakes.untried(bag, host) or host.probing:
        return 1 if not host.live and fits(bag.terms.needs, host.offer) else 0
    if all(attempt.bag == bag.id for attempt in host.live.values()):
        return held_at_most(state, bag, times(bag.terms.needs, host.offer)) - len(host.live)
    return 1 if fits_beside(host, bag.terms.needs) else 0


def admitted(state: State, bag: Bag, host: Host) -> bool:
    if bag.terms.pools and host.pool not in bag.terms.pools:
        return False
    return host.excluded_until_us <= state.now and brakes.admits(bag, host)


def fits_beside(host: Host, needs: Amounts) -> bool:
    """Room in the offer beside all that is believed on the host."""
    offer, used = host.offer or {}, host.used
    return all(offer.get(name, 0) - used.get(name, 0) >= amount for name, amount in needs.items())


def next_task(state: State, bag: Bag, host: Host) -> int | None:
    """Those that wait for another attempt come first, then the next never sent."""
    if bag.requeue:
        for avoid, needs in bag.requeue.groups():
            wanted = dict(needs) if needs else bag.terms.needs
            if not _fits_now(host, wanted, needs is not None):
                continue
            if may_go(state, bag, wanted, avoid, host):
                index = bag.requeue.take((avoid, needs))
                if index is not None:
                    return index
    while bag.cursor < bag.terms.count:
        index = bag.order.at(bag.cursor)
        bag.cursor += 1
        if index not in bag.done:
            return index
    return None


def may_go(state: State, bag: Bag, needs: Amounts, avoid: tuple[str, ...], host: Host) -> bool:
    """A task avoids the hosts where it failed, as long as there is another that can take it."""
    return host.id not in avoid or not another_takes(state, bag, needs, avoid)


def another_host(state: State, than: tuple[str, ...]) -> bool:
    return any(True for _ in _others(state, than))


def another_takes(state: State, bag: Bag, needs: Amounts, than: tuple[str, ...]) -> bool:
    """Is there another host that is in one of the bag's pools and large enough?"""
    pools = bag.terms.pools
    return any(
        (not pools or host.pool in pools) and fits(needs, host.capacity)
        for host in _others(state, than)
    )


def _others(state: State, than: tuple[str, ...]) -> Iterator[Host]:
    for host in state.hosts.values():
        if host.present and host.excluded_until_us <= state.now and host.id not in than:
            yield host


def _fits_now(host: Host, wanted: Amounts, grown: bool) -> bool:
    return fits_beside(host, wanted) if grown else fits(wanted, host.offer or {})


def assign(state: State, bag: Bag, index: int, host: Host) -> None:
    trouble = bag.troubles.get(index)
    needs = (trouble.needs if trouble else None) or bag.terms.needs
    number = state.next_attempt
    state.next_attempt = number + 1
    attempt = Attempt(number, bag.id, index, host.id, state.now, needs)
    believe(state, bag, host, attempt)
    if brakes.untried(bag, host):
        brakes.begin_trial(state, bag, host, number)
    if bag.terms.timeout_us is not None:
        _set_timeout(state, attempt, bag.terms.timeout_us, host)
    if trouble is None:
        state.out.append(Assign(number, bag.id, index, host.id, "next", attempt.timeout_us))
        return
    trouble.sent += 1
    state.out.append(Assign(number, bag.id, index, host.id, f"again: {trouble.why}",
                            attempt.timeout_us, trouble.needs, trouble.limits))  # fmt: skip
    state.out.append(Remember(trouble.row(bag.id, index)))


def believe(state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
    """It was sent, or a stored row says so: it counts as live on its host."""
    state.attempts[attempt.attempt] = attempt
    host.live[attempt.attempt] = attempt
    for name, amount in attempt.needs.items():
        host.used[name] = host.used.get(name, 0) + amount
    bag.live.setdefault(attempt.index, []).append(attempt)


def _set_timeout(state: State, attempt: Attempt, timeout_us: int, host: Host) -> None:
    pool = state.pools.get(host.pool)
    attempt.timeout_us = max(timeout_us, pool.min_timeout_us if pool else 0)
    state.timers.set(attempt.sent_us + attempt.timeout_us, Alarm.TIMEOUT, attempt.attempt)


def forget(state: State, attempt: Attempt) -> None:
    """The attempt is over: its room is free again."""
    del state.attempts[attempt.attempt]
    host = state.hosts[attempt.host]
    del host.live[attempt.attempt]
    for name, amount in attempt.needs.items():
        host.used[name] -= amount
    bag = state.bags[attempt.bag]
    left = bag.live[attempt.index]
    left.remove(attempt)
    if not left:
        del bag.live[attempt.index]


def drop(state: State, attempt: Attempt, booked: Outcome, why: str) -> None:
    """Ask the host to end it. It counts as live until the host says it is gone."""
    if attempt.dropping is None:
        attempt.dropping = booked
        state.out.append(Drop(attempt.attempt, attempt.host, why))


def settle(state: State, bag: Bag, index: int, attempt: int, outcome: Outcome) -> None:
    """The task has its result; whatever else runs for it is not wanted any more."""
    bag.done.add(index)
    if outcome is not Outcome.SUCCEEDED:
        if not bag.failed.size:
            bag.failed = Bits(bag.terms.count)
        bag.failed.add(index)
    bag.requeue.remove(index)
    bag.troubles.pop(index, None)
    state.out.append(Settle(bag.id, index, attempt, outcome))
    for other in bag.live.get(index, ()):
        drop(state, other, Outcome.CANCELLED, f"task {index} has its result")
    if outcome is not Outcome.SUCCEEDED:
        brakes.note_failed_task(state, bag)
    finish_if_done(state, bag)


def finish_if_done(state: State, bag: Bag) -> None:
    if bag.done.count == bag.terms.count and bag.phase is not BagPhase.CANCELLED:
        bag.phase = BagPhase.FINISHED
        bag.why = ""
        bag.ended_us = state.now
        state.fleet_due = True
        state.out.append(Remember(bag.row()))


def requeue(
    state: State, bag: Bag, index: int, trouble: Trouble, why: str, avoid: tuple[str, ...] = ()
) -> None:
    """Another attempt, if none is under way and the task has no result."""
    trouble.why = why
    state.out.append(Remember(trouble.row(bag.id, index)))
    if index in bag.done or any(not other.expired for other in bag.live.get(index, ())):
        return
    bag.requeue.add(index, avoid, trouble.needs)
    state.supply = True


def reopen(state: State, bag: Bag, index: int) -> None:
    if not bag.failed.size or index not in bag.failed:
        return
    bag.failed.remove(index)
    bag.done.remove(index)
    state.out.append(Reopen(bag.id, index))
    trouble = bag.troubles[index] = Trouble()
    requeue(state, bag, index, trouble, "its owner asked to try it again")


def close(state: State, attempt: int, outcome: Outcome, *, accepted: bool) -> None:
    state.out.append(Close(attempt, outcome, accepted))
