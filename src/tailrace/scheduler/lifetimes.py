"""Does a task end before the machine does that it would run on?

A task that is begun on a machine which is taken away before its end runs in vain. How long tasks
take, those tell that have ended; until some have, the time limit, which none of them passes.
"""

from __future__ import annotations

from tailrace.scheduler.state import Bag, Host, State

ENOUGH = 3  # run times that are worth more than the limit


def fits(state: State, bag: Bag, host: Host) -> bool:
    return host.ends_us is None or state.now + expected_us(bag) <= host.ends_us


def expected_us(bag: Bag) -> int:
    """With a deviation on top, since half of them take longer than the mean. 0: nobody knows."""
    limit = bag.terms.limits.time_us
    if bag.times.count < ENOUGH:
        return limit or 0
    measured = round(bag.times.mean_us + bag.times.deviation_us)
    return measured if limit is None else min(measured, limit)


def why_not(state: State, bag: Bag, host: Host) -> str:
    left = max((host.ends_us or 0) - state.now, 0) / 1e6
    takes = expected_us(bag) / 1e6
    known = "take about" if bag.times.count >= ENOUGH else "may take"
    return f"its machine ends in {left:.0f} s, and tasks {known} {takes:.0f} s"
