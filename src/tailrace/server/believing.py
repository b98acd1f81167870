"""What can be true of what a worker says of times.

Its clock is not ours, and a machine that sleeps stops some clocks and not others; so there is
slack. But no attempt ran for ages that was sent a minute ago: sums of such times would pass what a
store and the journal can hold, and one liar would stop everybody.
"""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.scheduler.state import State
from tailrace.server.protocol import WorkResult

SLACK = 2  # times as long as there was
SLACK_US = 60_000_000  # and this
MOST_CORES = 1 << 16  # that one attempt can have used at once


def believable(state: State, bag: int, result: WorkResult, now: int) -> WorkResult:
    most_us = SLACK * max(now - _since(state, bag, result.attempt), 0) + SLACK_US
    if result.run_us <= most_us and result.cpu_us <= most_us * MOST_CORES:
        return result
    return replace(
        result,
        run_us=min(result.run_us, most_us),
        cpu_us=min(result.cpu_us, most_us * MOST_CORES),
    )


def _since(state: State, bag: int, number: int) -> int:
    """When the attempt was sent; of one that had been given up, when its bag came."""
    attempt = state.attempts.get(number)
    return state.bags[bag].submitted_us if attempt is None else attempt.sent_us
