"""Twice as many calls as a server can see to: what rate holds, who is refused, when it is over.

First the rate it can sustain: clients that call again as soon as they are answered, each time with
a result, for a task. Then so many workers with a second of work each that twice as many calls come;
who is refused comes again when it was told to. Then three of four leave, and the rest goes on: it
has recovered behind the last second in which one was refused, or in which the p99 was 250 ms or
more. All of them are one process beside the server, on the same cores.
"""

from __future__ import annotations

import shutil
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.children.crowd import Group
from benchmarks.crowded import Answers, Crowd
from benchmarks.figure import Bar, Figure, at_least, below
from benchmarks.served import Served

AT_ONCE = 400  # as many as share a commit when there are more than enough
WARM_S = 4.0  # until the server has found out how many it can see to at once
SETTLE_S = 3.0  # until all have come, and those refused come again
QUIET_S = 15
P99_MS = 250.0
ENOUGH = 5_000_000


class Round(NamedTuple):
    sustained: float
    overload: Answers
    recovered_s: int
    lost: int
    came_again: int


def measure(bench: Bench) -> None:
    seconds = 8.0 if bench.quick else 20.0
    rounds = [_round(bench, seconds) for _ in range(2 if bench.quick else 3)]
    overloads = [one.overload for one in rounds]
    _tell(bench, "the rate it sustains", "calls/s", [one.sustained for one in rounds])
    offered = [one.calls / one.lasted_s for one in overloads]
    _tell(bench, "calls that come", "calls/s", offered, note="meant to be twice as many")
    held = [one.overload.rate / one.sustained for one in rounds]
    _tell(bench, "the rate that holds, beside the one it sustains", "times", held, at_least(0.8))
    _tell(bench, "refused", "%", [100 * one.refused / one.calls for one in overloads])
    _tell(bench, "p99 of those seen to", "ms", [one.percentile(99) for one in overloads])
    again = [one.came_again for one in rounds]
    _tell(bench, "connections closed before their first answer", "connections", again)
    _tell(bench, "recovered after", "s", [one.recovered_s for one in rounds], below(QUIET_S))
    _tell(bench, "results lost", "results", [one.lost for one in rounds], below(1))


def _tell(
    bench: Bench, what: str, unit: str, values: list[float], bar: Bar | None = None, note: str = ""
) -> None:
    bench.tell(Figure("overload", f"overload: {what}", unit, values, bar, note))


def _round(bench: Bench, seconds: float) -> Round:
    folder = bench.fresh()
    with Served(folder) as server:
        server.tell(f"sweep {ENOUGH}")
        before = _heard(Crowd(server.port, Group(AT_ONCE, WARM_S + seconds / 2, 0.0)))
        sustained = before.within((WARM_S, WARM_S + seconds / 2)).rate
        stays, leaves = round(sustained / 2), round(1.5 * sustained)
        crowd = _heard(Crowd(server.port, Group(stays, seconds + QUIET_S, 1.0),
                             Group(leaves, seconds, 1.0)))  # fmt: skip
        stored = server.tell("facts")["done"]
    shutil.rmtree(folder)
    lost = before.told.acked + crowd.told.acked - stored
    return Round(sustained, crowd.within((SETTLE_S, seconds)), _recovered(crowd, seconds), lost,
                 crowd.told.came_again)  # fmt: skip


def _recovered(crowd: Crowd, since_s: float) -> int:
    """Seconds after the overload."""
    for second in reversed(range(QUIET_S)):
        answers = crowd.within((since_s + second, since_s + second + 1))
        if answers.refused or answers.percentile(99) >= P99_MS:
            return second + 1
    return 0


def _heard(crowd: Crowd) -> Crowd:
    crowd.hear()
    return crowd
