"""What is remembered of a host, over restarts: how it did, and how much of late."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import keeping
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.state import Host, State

SECOND_US = 1_000_000
DAY_US = 24 * 3600 * SECOND_US
COARSE_US = 3600 * SECOND_US  # less is not worth a power


def error_rate(host: Host) -> float:
    """As GridBot has it: an attempt past its time-out is a failed one, and so is one that is lost.
    What ended otherwise, by the task's fault or because the machine was taken away, counts for
    nothing."""
    failed = host.booked + host.expired + host.lost
    ended = failed + host.succeeded
    return failed / ended if ended else 0.0


def mean_turnaround_s(host: Host) -> float | None:
    """From sending to result."""
    return host.turnaround_us / host.succeeded / SECOND_US if host.succeeded else None


def good_seconds(state: State, host: Host) -> float:
    """Spent on results that were kept; a day later half of them count."""
    return float(_good_us(state, host)) / SECOND_US


def _good_us(state: State, host: Host) -> int:
    left: float = 0.5 ** ((state.now - host.good_at_us) / DAY_US)
    return round(host.good_us * left)


def sent_today(state: State, host: Host) -> int:
    return host.today if host.day == _day(state) else 0


def _day(state: State) -> int:
    return (state.now + state.offset_us) // DAY_US


def midnight_us(state: State) -> int:
    """The next."""
    return (_day(state) + 1) * DAY_US - state.offset_us


def sent(state: State, host: Host) -> None:
    if state.now >= host.day_ends_us:
        day = _day(state)
        if day != host.day:
            host.day, host.today = day, 0
        host.day_ends_us = midnight_us(state)
    host.today += 1
    if not host.unkept:
        keeping.changed(state, host)


def expired(state: State, host: Host) -> None:
    """The time-out of an attempt has passed; once for each."""
    host.expired += 1
    if not host.unkept:
        keeping.changed(state, host)


def fell_short(state: State, host: Host, attempt: Attempt, outcome: Outcome) -> None:
    """What has expired was counted then, whatever becomes of it."""
    if attempt.expired:
        return
    if outcome is Outcome.EXPIRED:
        expired(state, host)
    elif outcome is Outcome.LOST:
        host.lost += 1
        if not host.unkept:
            keeping.changed(state, host)


def returned(state: State, host: Host, attempt: Attempt, run_us: int) -> None:
    """With a result that its task keeps."""
    host.turnaround_us += state.now - attempt.sent_us
    if state.now - host.good_at_us > COARSE_US:
        host.good_us, host.good_at_us = _good_us(state, host), state.now
    host.good_us += run_us
    if not host.unkept:
        keeping.changed(state, host)
