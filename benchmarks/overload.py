"""Twice as many calls as a server can see to: what rate holds, who is refused, when it is over.

Once by machines that take twenty tasks with each call, so that a call is work for the server, and
once by machines of one core: there, some ten thousand come at once, who are as much work for the
process that plays them all as they are for the server, and may not get what they would offer.

First the rate it can sustain: clients that call again as soon as they are answered, each time with
the results, for as many tasks. Then so many workers with tasks of a second each that twice as many
calls come; who is refused comes again when it was told to. Then three of four leave, and the rest
goes on: it has recovered behind the last second in which one was refused, or in which the p99 was
250 ms or more. All of them are one process beside the server, on the same cores, so it is told how
much of them each had. At last, once more, the rate it can sustain: where it differs much from the
first, the machine has become quicker or slower meanwhile. And where so much of a core was not to be
had as before, calls for each second of the server's own CPU say what an overload costs.
"""

from __future__ import annotations

import resource
import shutil
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.busy import Busy
from benchmarks.children.crowd import Group, coming_s
from benchmarks.crowded import Answers, Crowd
from benchmarks.figure import Bar, Figure, at_least, below
from benchmarks.served import Served

AT_ONCE = 400  # as many as share a commit when there are more than enough
WARM_S = 4.0  # until the server has found out how many it can see to at once
SETTLE_S = 3.0  # when all have come, until those refused come again
QUIET_S = 15
P99_MS = 250.0
ENOUGH = 5_000_000
FILES_FOR_ELSE = 1000  # store, libraries, and who has just left


class Part(NamedTuple):
    answers: Answers
    server: float  # cores that it computed on
    crowd: float

    @property
    def calls_per_cpu_s(self) -> float:
        """That were seen to."""
        return self.answers.rate / self.server


class Round(NamedTuple):
    before: Part
    during: Part
    after: Part
    recovered_s: int
    lost: int
    came_again: int


def measure(bench: Bench) -> None:
    seconds = 8.0 if bench.quick else 20.0
    for cores in (20, 1):
        rounds = [_round(bench, seconds, cores) for _ in range(2 if bench.quick else 3)]
        _tell_all(Telling(bench, f"overload, {cores} task{'s' * (cores > 1)} a call"), rounds)


class Telling(NamedTuple):
    bench: Bench
    title: str

    def tell(
        self, what: str, unit: str, values: list[float], bar: Bar | None = None, note: str = ""
    ) -> None:
        figure = Figure("overload", f"{self.title}: {what}", unit, values, bar, note)
        self.bench.tell(figure)


def _tell_all(to: Telling, rounds: list[Round]) -> None:
    overloads = [one.during.answers for one in rounds]
    before = [one.before.answers.rate for one in rounds]
    to.tell("the rate it sustains", "calls/s", before)
    after = [one.after.answers.rate for one in rounds]
    to.tell("the rate it sustains, once it is over", "calls/s", after)
    offered = [one.calls / one.lasted_s for one in overloads]
    to.tell("calls that come", "calls/s", offered, note="meant to be twice as many")
    held = [one.rate / rate for one, rate in zip(overloads, before, strict=True)]
    to.tell("the rate that holds, beside the one it sustains", "times", held, at_least(0.8))
    _tell_cores(to, rounds)
    to.tell("refused", "%", [100 * one.refused / one.calls for one in overloads])
    to.tell("p99 of those seen to", "ms", [one.percentile(99) for one in overloads])
    again: list[float] = [one.came_again for one in rounds]
    to.tell("connections closed before their first answer", "connections", again)
    to.tell("recovered after", "s", [one.recovered_s for one in rounds], below(QUIET_S))
    to.tell("results lost", "results", [one.lost for one in rounds], below(1))


def _tell_cores(to: Telling, rounds: list[Round]) -> None:
    for what, parts in (
        ("at the rate it sustains", [one.before for one in rounds]),
        ("in the overload", [one.during for one in rounds]),
    ):
        to.tell(f"the server's CPU, {what}", "% of a core", [100 * p.server for p in parts])
        to.tell(f"the workers' CPU, {what}", "% of a core", [100 * p.crowd for p in parts])
    values = [one.during.calls_per_cpu_s / one.before.calls_per_cpu_s for one in rounds]
    to.tell("calls seen to in a second of the server's CPU, beside before", "times", values)


def _round(bench: Bench, seconds: float, cores: int) -> Round:
    folder = bench.fresh()
    with Served(folder) as server:
        server.tell(f"sweep {ENOUGH}")
        all_out = Group(AT_ONCE, WARM_S + seconds / 2, 0.0, cores)
        first, before = _heard(server, (WARM_S, WARM_S + seconds / 2), all_out)
        sustained = before.answers.rate
        workers = _workers(sustained)
        comes_s = coming_s(workers)
        leaves_s, stretch = comes_s + seconds, (comes_s + SETTLE_S, comes_s + seconds)
        groups = _groups(workers, workers / (2 * sustained), leaves_s, cores)
        crowd, during = _heard(server, stretch, *groups)
        last, after = _heard(server, (WARM_S, WARM_S + seconds / 2), all_out)
        stored = server.tell("facts")["done"]
    shutil.rmtree(folder)
    lost = sum(one.told.acked for one in (first, crowd, last)) - stored
    came_again = crowd.told.came_again
    return Round(before, during, after, _recovered(crowd, leaves_s), lost, came_again)


def _workers(sustained: float) -> int:
    """Fewer, with less work each, where there would be more than a process may have files."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return round(min(2 * sustained, files - FILES_FOR_ELSE))


def _groups(workers: int, every_s: float, leaves_s: float, cores: int) -> tuple[Group, Group]:
    stays = workers // 4
    return (
        Group(stays, leaves_s + QUIET_S, every_s, cores),
        Group(workers - stays, leaves_s, every_s, cores),
    )


def _recovered(crowd: Crowd, since_s: float) -> int:
    """Seconds after the overload."""
    for second in reversed(range(QUIET_S)):
        answers = crowd.within((since_s + second, since_s + second + 1))
        if answers.refused or answers.percentile(99) >= P99_MS:
            return second + 1
    return 0


def _heard(server: Served, stretch: tuple[float, float], *groups: Group) -> tuple[Crowd, Part]:
    """And how it went in this stretch of time."""
    crowd = Crowd(server.port, *groups)
    with Busy(server.pid, crowd.pid) as busy:
        crowd.hear()
    begin, end = (crowd.start + second for second in stretch)
    return crowd, Part(crowd.within(stretch), *busy.cores(begin, end))
