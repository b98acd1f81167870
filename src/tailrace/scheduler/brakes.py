"""Brakes: what keeps a broken bag from burning its tasks on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tailrace.scheduler import fleet, looking, others
from tailrace.scheduler.attempt import Attempt, Trial
from tailrace.scheduler.decisions import PauseBag, Remember
from tailrace.scheduler.events import Ended, Measured
from tailrace.scheduler.rows import BagPhase, Failure
from tailrace.scheduler.state import Bag, Host, State
from tailrace.scheduler.timers import Alarm

UNTRIED = Trial(0, 0)
_DIGITS = re.compile(r"\d+")


def sign(measured: Measured) -> str:
    """Two failures are alike when exit code and last line agree but for numbers."""
    return f"exit {measured.exit}: {_DIGITS.sub('#', measured.text)[:200]}"


def begin_trial(state: State, bag: Bag, host: Host, attempt: int) -> None:
    bag.trials[host.kind] = Trial(attempt, state.now)
    state.timers.set(state.now + bag.terms.trial_us, Alarm.TRIAL, bag.id)


def end_trial(state: State, bag: Bag, host: Host, attempt: Attempt, *, passed: bool) -> None:
    """A trial that failed is followed by another, with the next task."""
    trial = bag.trials.get(host.kind)
    if trial is None or trial.attempt != attempt.attempt:
        return
    if passed:
        bag.trials[host.kind] = None
    else:
        del bag.trials[host.kind]
    looking.look_now(state, bag)


def trials_due(state: State, bag: Bag) -> None:
    """A trial that has run for a while without failing is good enough."""
    for kind, trial in bag.trials.items():
        if trial is not None and state.now >= trial.since_us + bag.terms.trial_us:
            bag.trials[kind] = None
            looking.look_now(state, bag)


def note_failure(state: State, bag: Bag, event: Ended, *, settled: bool) -> None:
    """Twenty alike in a row, none succeeding between them, pause the bag. One that is not settled
    to be the task's fault is the word of its host, which counts only so often: a broken host alone
    does not pause a bag that others can run."""
    found = f"{event.outcome}, {event.measured.limit} {sign(event.measured)}"
    if found != bag.like_sign or not bag.like_count:
        bag.like_sign, bag.like_count, bag.like_hosts = found, 0, {}
    if not settled and _has_said_enough(state, bag, event.host):
        return
    bag.like_count += 1
    if bag.like_count >= bag.terms.like_failures:
        pull(state, bag, f"{bag.like_count} attempts in a row failed alike: {failed_how(event)}")


def _has_said_enough(state: State, bag: Bag, host: str) -> bool:
    """No more than a quarter of what pauses the bag is of one host, if there are others."""
    said = bag.like_hosts.get(host, 0)
    if said >= max(bag.terms.like_failures // 4, 1) and others.another(state, bag, (host,)):
        return True
    bag.like_hosts[host] = said + 1
    return False


def note_settled(bag: Bag, failures: Iterable[Failure]) -> None:
    """They were the task's fault: what the hosts said is confirmed."""
    for failure in failures:
        said = bag.like_hosts.get(failure.host, 0)
        bag.like_hosts[failure.host] = max(said - 1, 0)


def failed_how(event: Ended, *, briefly: bool = False) -> str:
    """`task failed (exit 3, no such file)`. Briefly, a limit's name says it all: its remedy stands
    with the attempt."""
    measured = event.measured
    exit_code = "" if measured.exit is None else f"exit {measured.exit}"
    limit = f"its {measured.limit} limit" if measured.limit else ""
    text = "" if briefly and limit else measured.text[:200]
    details = ", ".join(part for part in (exit_code, limit, text) if part)
    told = event.outcome.replace("_", " ")
    return f"{told} ({details})" if details else told


def note_failed_task(state: State, bag: Bag) -> None:
    """Counted anew by whoever resumes it: he has seen those before."""
    most, found = bag.terms.max_failures, bag.failed.count - bag.forgiven
    if most is not None and found >= most:
        since = " since it was resumed" if bag.forgiven else ""
        pull(state, bag, f"{found} tasks failed{since}, max_failures is {most}")


def pull(state: State, bag: Bag, why: str) -> None:
    if not bag.runs:
        return
    bag.phase, bag.why = BagPhase.BRAKED, why
    state.out.append(PauseBag(bag.id, why))
    state.out.append(Remember(bag.row()))
    fleet.closed(state, bag)
