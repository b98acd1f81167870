"""The life of an attempt: taken from the queue, sent, dropped, closed; and of a task: settled."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.policy.attributes import Plain
from tailrace.scheduler import (
    admission,
    brakes,
    doubts,
    fleet,
    kin,
    looking,
    money,
    patience,
    policies,
    records,
    shares,
    tails,
    units,
    wanting,
)
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.bits import Bits
from tailrace.scheduler.decisions import Assign, Close, Drop, Remember, Reopen, Settle
from tailrace.scheduler.fresh import Grouped
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import ENDLESS, Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm

SUCCEEDED, TIMEOUT = Outcome.SUCCEEDED, Alarm.TIMEOUT  # looked up for every task
FIRST = "first attempt"


def send(state: State, bag: Bag, host: Host, most: int) -> None:
    """So many, which the policies took that were asked last."""
    if most > 1 and policies.asked_for_each(bag, host):
        _send_each(state, bag, host, most)
    else:
        _send(state, bag, host, most)


def _send_each(state: State, bag: Bag, host: Host, most: int) -> None:
    """What policies look at changes with each that is sent: before the next they are asked anew.
    Who draws lots, draws one for each place."""
    rules, bound, draws = bag.rules, ENDLESS, bag.rules is not None and bag.rules.draws
    for place in range(most):
        if place and policies.most_more(state, bag, host) <= 0:
            break
        before = state.next_attempt
        _send(state, bag, host, 1)
        if rules is not None:
            bound = min(bound, rules.bound)
        if not bag.hungry or (state.next_attempt == before and not draws):
            break
    if rules is not None:
        rules.bound = bound


def _send(state: State, bag: Bag, host: Host, most: int) -> None:
    """Those that wait for another attempt come first, then the next never sent. The tail may begin
    on the way, and take all of those."""
    first = state.next_attempt
    if bag.rules is not None:
        most = _send_by_rules(state, bag, host, most)
        if isinstance(bag.fresh, Grouped):
            most = _send_by_group(state, bag, host, most, bag.fresh)
    elif bag.doubts or bag.requeue.waiting:
        most = _send_first(state, bag, host, most)
    fresh, out, replication = bag.fresh, state.out, bag.replication
    while most > 0 and fresh.sent < fresh.arrived:
        most -= 1
        index = fresh.take()
        one = _new_attempt(state, bag, host, index, None)
        out.append(Assign(one.attempt, bag.id, index, host.id, FIRST, one.timeout_us))
        if replication is not None:
            replication.sent(state, bag, host, one)
    if bag.terms.tail_stays:
        tails.note(state, bag)
    if bag.refused and state.next_attempt > first:
        looking.stirred(state, bag)  # its tail may have begun
    if fresh.sent >= fresh.arrived and not bag.hungry:
        fleet.sated(state, bag)  # else others would count it in the queue until its turn comes


def could_send(state: State, bag: Bag, host: Host) -> bool:
    """Is there a task of it for this host, which was just ruled on, if that might hold more?"""
    held_back = bool(bag.doubts) and doubts.held_back(state, bag, host)
    if not held_back and policies.sends_new(bag) and (bag.fresh.left or bag.requeue.plain):
        return True
    return any(
        (group.avoid or not held_back)
        and admission.may_go(state, bag, host, group)
        and policies.would(state, bag, host, group.job)
        for group in bag.requeue.groups
    )


def _send_by_group(state: State, bag: Bag, host: Host, most: int, fresh: Grouped) -> int:
    """The same of what was never sent, where it may go there. The tail may take all of those."""
    news = policies.take_new(state, bag, host, fresh)
    while most > 0 and fresh.left:
        index = next(news, None)
        if index is None:
            break
        most -= 1
        one = _new_attempt(state, bag, host, index, None)
        state.out.append(Assign(one.attempt, bag.id, index, host.id, FIRST, one.timeout_us))
        if bag.replication is not None:
            bag.replication.sent(state, bag, host, one)
    return 0


def _send_by_rules(state: State, bag: Bag, host: Host, most: int) -> int:
    """The same where a policy may think otherwise of what waits than of what was never sent; and
    of the tail, which is asked about anew."""
    rules = bag.rules
    assert rules is not None
    ruled, no_tail = rules.ruled, rules.heeds_tail and not tails.in_tail(bag)
    rules.bound = ENDLESS
    if no_tail:
        most = min(most, tails.sent_before(bag))
    if bag.doubts or bag.requeue.waiting:
        before = state.next_attempt
        most = _send_first(state, bag, host, most)
        if state.next_attempt > before and rules.ruled is not None:
            rules.bound = rules.ruled.most
    rules.ruled = ruled
    if not policies.sends_new(bag):
        return 0
    return min(most, tails.sent_before(bag)) if no_tail else most


def _send_first(state: State, bag: Bag, host: Host, most: int) -> int:
    """What waits for another attempt. How many may be sent that never were: none to a host that is
    held back."""
    held_back = False
    if bag.doubts and doubts.held_back(state, bag, host):
        held_back = not doubts.may_try_one(state, bag, host)
        most = most if held_back else 1
    if bag.requeue.waiting:
        most = _send_waiting(state, bag, host, most, held_back)
    return 0 if held_back else most


def _send_waiting(state: State, bag: Bag, host: Host, most: int, held_back: bool) -> int:
    """How many more may be sent. A host that is held back gets only what failed elsewhere."""

    refused: dict[tuple[Plain, ...], None] = {}  # by the policy, since the last was sent

    def admits(group: Group) -> bool:
        if not group.avoid and held_back:
            return False
        if bag.rules is not None:
            if group.job in refused:
                return False
            if not policies.may_go(state, bag, host, group):
                refused[group.job] = None
                return False
        return admission.may_go(state, bag, host, group)

    while most > 0 and bag.requeue.waiting:
        refused.clear()
        found = bag.requeue.take(admits)
        if found is None:
            break
        most -= 1
        _send_again(state, bag, host, found[0])
        if found[1].needs:
            return 0  # it takes more than was reckoned with
    return most


def _send_again(state: State, bag: Bag, host: Host, index: int) -> None:
    trouble = bag.troubles[index]
    trouble.sent += 1
    attempt = _new_attempt(state, bag, host, index, trouble.needs)
    why = f"again: {trouble.why}"
    state.out.append(Assign(attempt.attempt, bag.id, index, host.id, why, attempt.timeout_us,
                            trouble.needs, trouble.limits))  # fmt: skip
    remember(state, bag, index, trouble)
    if bag.replication is not None:
        bag.replication.sent(state, bag, host, attempt)


def send_wanted(state: State, bag: Bag, host: Host, index: int) -> None:
    """One more attempt of a task, because a replication strategy wants it."""
    assert bag.replication is not None
    trouble = bag.troubles.get(index)
    attempt = _new_attempt(state, bag, host, index, trouble.needs if trouble else None)
    out = len(bag.live[index]) - 1
    why = f"another beside {out}: {bag.replication.name}" if out else f"again: {_why(trouble)}"
    state.out.append(Assign(attempt.attempt, bag.id, index, host.id, why, attempt.timeout_us,
                            attempt.needs, trouble.limits if trouble else None))  # fmt: skip
    if trouble is not None:
        trouble.sent += 1
        remember(state, bag, index, trouble)
    bag.replication.sent(state, bag, host, attempt)


def _why(trouble: Trouble | None) -> str:
    return trouble.why if trouble and trouble.why else "the tail has begun"


def _new_attempt(
    state: State, bag: Bag, host: Host, index: int, needs: dict[str, int] | None
) -> Attempt:
    number, replication = state.next_attempt, bag.replication
    state.next_attempt = number + 1
    ahead = admission.goes_ahead(bag, host) if host.live else False
    timeout_us = bag.terms.timeout_us if bag.rules is None else policies.timeout_us(bag)
    if replication is not None and replication.sets_timeout:
        timeout_us = patience.at_least(bag, index, replication.timeout_us(state, bag, host))
    if timeout_us is not None and timeout_us < host.min_timeout_us:
        timeout_us = host.min_timeout_us
    attempt = Attempt(number, bag.id, index, host.id, state.now, needs, ahead, timeout_us)
    believe(state, bag, host, attempt)
    records.sent(state, host)
    if host.kind not in bag.trials and bag.terms.trial_us:
        brakes.begin_trial(state, bag, host, number)
    if host.probing:
        host.probe = number
    if timeout_us is not None:
        state.timers.set(state.now + timeout_us, TIMEOUT, number)
    return attempt


def believe(state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
    """It was sent, or a stored row says so: it counts as live on its host."""
    number, index, live = attempt.attempt, attempt.index, bag.live
    state.attempts[number] = host.live[number] = attempt
    if attempt.needs is None:
        plain, owner = host.plain, bag.id
        plain[owner] = plain.get(owner, 0) + 1
    else:
        host.grown[number] = attempt
    live[index] = (*live[index], attempt) if index in live else (attempt,)
    bag.out += not attempt.expired
    shares.take(state, bag, host, attempt)
    if bag.rules is not None:
        kin.look(state, bag)
    if host.payer is not None:
        money.owe(state, bag, host, attempt)


def forget(state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
    """The attempt is over: its room is free again."""
    number, index, plain = attempt.attempt, attempt.index, host.plain
    del state.attempts[number], host.live[number]
    if attempt.needs is not None:
        del host.grown[number]
    elif plain[bag.id] > 1:
        plain[bag.id] -= 1
    else:
        del plain[bag.id]
    if host.lease is not None and not host.live:
        units.fell_idle(state, host.lease)
    if attempt.reached is not None:
        del bag.telling[number]
    if not attempt.expired:
        less_out(state, bag)
    shares.give_back(state, bag, host, attempt)
    if bag.refused:
        looking.stirred(state, bag)
    live = bag.live.pop(index)
    if len(live) > 1:
        bag.live[index] = tuple(other for other in live if other is not attempt)
    if attempt.lease:
        money.owe_no_more(state, bag, attempt)
    if attempt.timeout_us is not None:
        state.timers.void(number)


def less_out(state: State, bag: Bag) -> None:
    """An offer may have found nothing only because so many of the bag were under way."""
    if bag.terms.most_running is not None and not bag.may_begin and bag.hungry:
        looking.look_now(state, bag)
    bag.out -= 1


def drop(state: State, attempt: Attempt, booked: Outcome, why: str) -> None:
    """Ask the host to end it. It counts as live until the host says it is gone."""
    if attempt.dropping is None:
        attempt.dropping = booked
        state.out.append(Drop(attempt.attempt, attempt.host, why))


def under_way(bag: Bag, index: int) -> bool:
    """Is there an attempt whose end must be awaited before another is sent?"""
    return any(not attempt.expired for attempt in bag.live.get(index, ()))


def may_succeed(bag: Bag, index: int) -> bool:
    """Or one whose time-out has passed, but was only a guess: as long as it runs, its result may
    come. What is given up, or comes too late to count, is being dropped."""
    if not bag.guesses:
        return under_way(bag, index)
    return any(one.dropping is None or not one.expired for one in bag.live.get(index, ()))


def settle(state: State, bag: Bag, index: int, attempt: int, outcome: Outcome) -> None:
    """The task has its result; whatever else runs for it is not wanted any more."""
    done, replication = bag.done, bag.replication
    done.add(index)
    trouble = bag.troubles.pop(index, None) if bag.troubles else None
    state.out.append(Settle(bag.id, index, attempt, outcome, trouble is not None))
    if trouble is not None:
        bag.requeue.remove(index)
        kin.look(state, bag)
        doubts.settle(state, bag, index, trouble.unsettled)
    if replication is not None:
        replication.settled(state, bag, index)
    if index in bag.live:
        _drop_losers(state, bag, index)
    if outcome is not SUCCEEDED:
        _note_failed(bag, index)
    if (trouble is not None or replication is not None) and bag.queued and not bag.hungry:
        fleet.sated(state, bag)  # it waited for another attempt, or the tail took all
    if bag.terms.last and not bag.is_last(index) and others_are_done(bag):
        call_last(state, bag)
    if done.count == bag.terms.count:
        finish(state, bag)
    elif outcome is not SUCCEEDED:
        brakes.note_failed_task(state, bag)


def _drop_losers(state: State, bag: Bag, index: int) -> None:
    if not bag.keeps_losers:
        for other in bag.live[index]:
            drop(state, other, Outcome.CANCELLED, f"task {index} has its result")


def _note_failed(bag: Bag, index: int) -> None:
    if not bag.failed.size:
        bag.failed = Bits(bag.terms.count)
    bag.failed.add(index)


def finish(state: State, bag: Bag) -> None:
    """All tasks have a result. A cancelled bag stays so until its owner takes it up again."""
    if bag.phase is BagPhase.CANCELLED:
        return
    bag.phase, bag.why, bag.ended_us = BagPhase.FINISHED, "", state.now
    bag.put_away()
    state.out.append(Remember(bag.row()))
    fleet.closed(state, bag)


def others_are_done(bag: Bag) -> bool:
    """All tasks have a result but the last, which may have one already."""
    last = bag.terms.count - 1
    return bag.done.count - (last in bag.done) == last


def call_last(state: State, bag: Bag) -> None:
    """All others have their result. If one of them was tried again, it must look at all anew."""
    last = bag.terms.count - 1
    _replicate_no_more(state, bag)
    if bag.fresh.arrived <= last:
        bag.fresh.arrive(last + 1)
        state.out.append(Remember(bag.row()))
        if bag.runs:
            fleet.queue(state, bag)
    elif last in bag.done:
        _open_again(state, bag, last, "the others have changed since")
    else:
        for attempt in bag.live.get(last, ()):
            drop(state, attempt, Outcome.CANCELLED, "the others have changed since it began")


def _replicate_no_more(state: State, bag: Bag) -> None:
    """Nothing is left to replicate: the last task runs once at a time."""
    bag.replication = None
    wanting.leave(state, bag)
    for index, attempts in bag.live.items():
        for attempt in attempts if index in bag.done and not bag.is_last(index) else ():
            drop(state, attempt, Outcome.CANCELLED, f"task {index} has its result")


def requeue(
    state: State, bag: Bag, index: int, trouble: Trouble, why: str, avoid: tuple[str, ...] = ()
) -> None:
    """Another attempt, if none is under way and the task has no result. As long as blame is open,
    it keeps away from where it failed."""
    trouble.why = why
    trouble.avoid = tuple(sorted(dict.fromkeys((*avoid, *trouble.failed_on()))))
    remember(state, bag, index, trouble)
    if index in bag.done or under_way(bag, index):
        return
    if bag.replication is None or not bag.replication.sends_again(state, bag, index, trouble):
        bag.requeue.add(index, admission.group_of(state, bag, index, trouble))
        fleet.queue(state, bag)


def remember(state: State, bag: Bag, index: int, trouble: Trouble) -> None:
    state.out.append(Remember(trouble.row(bag.id, index)))


def reopen(state: State, bag: Bag, index: int) -> None:
    """A failed one. The last is called when the others are done, if some are open again."""
    if not bag.failed.size or not 0 <= index < bag.failed.size or index not in bag.failed:
        return
    if not bag.is_last(index) or others_are_done(bag):
        _open_again(state, bag, index, "its owner asked to try it again")


def _open_again(state: State, bag: Bag, index: int, why: str) -> None:
    bag.take_out()
    if bag.failed.size:
        bag.failed.remove(index)
    if bag.forgiven > bag.failed.count:
        bag.forgiven = bag.failed.count
        state.out.append(Remember(bag.row()))
    bag.done.remove(index)
    state.out.append(Reopen(bag.id, index))
    trouble = bag.troubles[index] = Trouble()
    trouble.expired = tuple(one.attempt for one in bag.live.get(index, ()) if one.expired)
    requeue(state, bag, index, trouble, why)


def close(state: State, attempt: int, outcome: Outcome, *, accepted: bool) -> None:
    state.out.append(Close(attempt, outcome, accepted))
