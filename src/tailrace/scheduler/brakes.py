"""Brakes: what keeps a broken bag from burning its tasks on every machine."""

from __future__ import annotations

import re

from tailrace.scheduler import fleet
from tailrace.scheduler.decisions import PauseBag, Remember
from tailrace.scheduler.events import Ended, Measured
from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import Attempt, Bag, Host, State, Trial
from tailrace.scheduler.timers import Alarm

TRIAL_US = 2_000_000
UNTRIED = Trial(0, 0)
_DIGITS = re.compile(r"\d+")


def sign(measured: Measured) -> str:
    """Two failures are alike when exit code and last line agree but for numbers."""
    return f"exit {measured.exit}: {_DIGITS.sub('#', measured.text)[:200]}"


def begin_trial(state: State, bag: Bag, host: Host, attempt: int) -> None:
    bag.trials[host.kind] = Trial(attempt, state.now)
    state.timers.set(state.now + TRIAL_US, Alarm.TRIAL, bag.id)


def end_trial(state: State, bag: Bag, host: Host, attempt: Attempt, *, passed: bool) -> None:
    """A trial that failed is followed by another, with the next task."""
    trial = bag.trials.get(host.kind)
    if trial is None or trial.attempt != attempt.attempt:
        return
    if passed:
        bag.trials[host.kind] = None
    else:
        del bag.trials[host.kind]
    state.supply = True


def trials_due(state: State, bag: Bag) -> None:
    """A trial that has run for a while without failing is good enough."""
    for kind, trial in bag.trials.items():
        if trial is not None and state.now >= trial.since_us + TRIAL_US:
            bag.trials[kind] = None
            state.supply = True


def note_failure(state: State, bag: Bag, event: Ended) -> None:
    """Twenty alike in a row, none succeeding between them, pause the bag."""
    found = f"{event.outcome}, {event.measured.limit} {sign(event.measured)}"
    bag.like_count = bag.like_count + 1 if found == bag.like_sign else 1
    bag.like_sign = found
    if bag.like_count >= bag.terms.like_failures:
        pull(state, bag, f"{bag.like_count} attempts in a row failed alike: {failed_how(event)}")


def failed_how(event: Ended) -> str:
    """`task failed (exit 3, no such file)`."""
    measured = event.measured
    exit_code = "" if measured.exit is None else f"exit {measured.exit}"
    limit = f"its {measured.limit} limit" if measured.limit else ""
    details = ", ".join(part for part in (exit_code, limit, measured.text[:200]) if part)
    told = event.outcome.replace("_", " ")
    return f"{told} ({details})" if details else told


def note_failed_task(state: State, bag: Bag) -> None:
    most = bag.terms.max_failures
    if most is not None and bag.failed.count >= most:
        pull(state, bag, f"{bag.failed.count} tasks failed, max_failures is {most}")


def pull(state: State, bag: Bag, why: str) -> None:
    if not bag.runs:
        return
    bag.phase, bag.why = BagPhase.BRAKED, why
    state.out.append(PauseBag(bag.id, why))
    state.out.append(Remember(bag.row()))
    fleet.closed(state, bag)
