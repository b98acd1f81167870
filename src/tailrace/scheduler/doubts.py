"""Hosts in doubt: their tasks of a bag fail, and no other host has yet shown whose fault that is.

A broken host that fails in a second among slow good ones is always free, and would have the whole
bag before the first good one has answered. So when a few of its failures are unsettled, and none of
its tasks has succeeded since, it gets no new task of that bag until one is settled: only tasks that
failed elsewhere, which is how two hosts in doubt help each other out. Should the others take long,
it may try one now and then. The last host is never held back: on it a failure is settled at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.scheduler import fleet, looking, others
from tailrace.scheduler.rows import Failure
from tailrace.scheduler.state import Bag, Doubt, Host, State
from tailrace.scheduler.timers import Alarm

FEW = 5
PATIENCE_US = 60_000_000


def note(state: State, bag: Bag, index: int, host: str) -> None:
    doubt = bag.doubts.setdefault(host, Doubt())
    doubt.tasks[index] = None
    if len(doubt.tasks) >= FEW:
        _wait_from_now(state, bag, doubt)


def _wait_from_now(state: State, bag: Bag, doubt: Doubt) -> None:
    doubt.since_us = state.now
    state.timers.set(state.now + PATIENCE_US, Alarm.DOUBT, bag.id)


def settle(state: State, bag: Bag, index: int, failures: Iterable[Failure]) -> None:
    """It is known now whose fault they were."""
    for failure in failures:
        doubt = bag.doubts.get(failure.host)
        if doubt is None or index not in doubt.tasks:
            continue
        if len(doubt.tasks) >= FEW:
            looking.look_now(state, bag)
        del doubt.tasks[index]
        if not doubt.tasks:
            del bag.doubts[failure.host]


def clear(state: State, bag: Bag, host: str) -> None:
    """A task has succeeded on it."""
    doubt = bag.doubts.pop(host, None)
    if doubt is not None and len(doubt.tasks) >= FEW:
        looking.look_now(state, bag)


def held_back(state: State, bag: Bag, host: Host) -> bool:
    """A large host fails many at once: it may have as many unsettled as it runs."""
    doubt = bag.doubts.get(host.id)
    if doubt is None or len(doubt.tasks) < max(FEW, fleet.slots(bag, host)):
        return False
    if not others.another(state, bag, (host.id,)):
        return False
    return any(_asked_elsewhere(state, bag, host, index) for index in doubt.tasks)


def _asked_elsewhere(state: State, bag: Bag, host: Host, index: int) -> bool:
    """Another host has the task, or may take it."""
    for attempt in bag.live.get(index, ()):
        if attempt.host != host.id and state.hosts[attempt.host].present:
            return True
    group = bag.requeue.waiting.get(index)
    if group is None:
        return False
    needs = dict(group.needs) if group.needs else None
    return others.another(state, bag, group.avoid, needs, group.reliable, group.job)


def may_try_one(state: State, bag: Bag, host: Host) -> bool:
    """The others have not answered for a while."""
    doubt = bag.doubts[host.id]
    if state.now < doubt.since_us + PATIENCE_US:
        return False
    _wait_from_now(state, bag, doubt)
    return True


def restore(bag: Bag) -> None:
    for index, trouble in bag.troubles.items():
        for failure in trouble.unsettled:
            bag.doubts.setdefault(failure.host, Doubt()).tasks[index] = None


def watch_again(state: State, bag: Bag) -> None:
    for doubt in bag.doubts.values():
        _wait_from_now(state, bag, doubt)
