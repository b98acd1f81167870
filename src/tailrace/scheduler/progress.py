"""Tasks that tell how far they are. No decision depends on it: people look at it, and the time left
is reckoned with it. It is not durable; a task that goes on will tell again."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

import msgspec

from tailrace.knowledge.progress import Reached
from tailrace.quantities import SECOND, show_duration
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.events import Progress
from tailrace.scheduler.state import Bag, State


class Halfway(msgspec.Struct, frozen=True):
    """A task under way, for those who look on."""

    task: int
    attempt: int
    host: str
    sent_us: int
    done: float
    told_us: int
    left_us: int | None  # below 0: it should have ended
    cpu_us: int
    text: str


def told(state: State, event: Progress) -> None:
    """Of one that is not out there any more it does not matter, and older news neither."""
    attempt = state.attempts.get(event.attempt)
    if attempt is None or attempt.host != event.host:
        return
    if event.done is None:
        attempt.unreadable = event.text
        return
    known = attempt.reached
    if known is None or event.ran_us > known.ran_us:
        done = min(max(event.done, 0.0), 1.0)
        at = state.now - event.ago_us
        new = Reached(done, event.ran_us, at, event.cpu_us, event.text)
        attempt.reached = new.after(known)
        attempt.unreadable = ""
        state.bags[attempt.bag].telling[attempt.attempt] = attempt


def begun(bag: Bag) -> float:
    """What is done of tasks without a result: of each, as far as its best attempt is."""
    best: dict[int, float] = {}
    for attempt, reached in _telling(bag):
        if attempt.index not in bag.done:
            best[attempt.index] = max(best.get(attempt.index, 0.0), reached.done)
    return sum(best.values())


def halfway(bag: Bag, now: int, most: int) -> list[Halfway]:
    """Those that are out the longest."""
    pairs = nsmallest(most, _telling(bag), key=lambda pair: (pair[0].sent_us, pair[0].attempt))
    return [
        Halfway(attempt.index, attempt.attempt, attempt.host, attempt.sent_us, reached.done,
                reached.at_us, reached.left_us(now), reached.cpu_us, reached.text)
        for attempt, reached in pairs
    ]  # fmt: skip


def _telling(bag: Bag) -> Iterator[tuple[Attempt, Reached]]:
    for attempt in bag.telling.values():
        if attempt.reached is not None:
            yield attempt, attempt.reached


def describe(attempt: Attempt, now: int) -> str:
    """What there is to say of it, behind a sentence; mostly nothing."""
    words = "" if attempt.reached is None else f": {_so_far(attempt.reached, now)}"
    if attempt.unreadable:
        words += f"; $TAILRACE_PROGRESS is not understood: {attempt.unreadable}"
    return words


def _so_far(reached: Reached, now: int) -> str:
    beside = f" ({reached.text})" if reached.text else ""
    cpu = f", with {_seconds(reached.cpu_us)} of CPU" if reached.cpu_us else ""
    ago = _seconds(now - reached.at_us)
    return f"{100 * reached.done:.0f} % done {ago} ago{beside}{cpu}{_ending(reached, now)}"


def _ending(reached: Reached, now: int) -> str:
    left = reached.left_us(now)
    if reached.done >= 1:
        return ""
    if left is None:
        return ", no rate can be told yet" if reached.done else ""
    if left < 0:
        return f", at that rate it should have ended {_seconds(-left)} ago"
    return f", at this rate it ends in about {_seconds(left)}"


def _seconds(us: int) -> str:
    return show_duration(max(us, 0) // SECOND * SECOND)
