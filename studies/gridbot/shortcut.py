"""GridBot's shortcut: a policy is asked once for a bag and a host, not once for each job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from studies.gridbot.size import sized
from studies.gridbot.tally import Tally
from studies.runs import Runs
from studies.table import table
from studies.verdict import Claim
from tailrace.policy.ads import Scene
from tailrace.policy.expression import Expression, No, Value
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

FILE = "gridbot-shortcut.toml"
GRIDS, ALL = "the grids", "with volunteers, who are refused"
BAG, JOB = "once for the bag", "once for each job"
BUFFER = 150  # a tenth of the paper's
OF_EACH_JOB = ("JobRequirements", "Rank")
PAPER = {(GRIDS, BAG): "3", (GRIDS, JOB): "3", (ALL, BAG): "it worked", (ALL, JOB): "it broke down"}


class Cost(NamedTuple):
    jobs: int
    requests: int
    asked: int  # expressions that were evaluated
    cpu_s: float

    @property
    def each(self) -> float:
        return self.asked / self.requests

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / self.cpu_s


Found = dict[tuple[str, str], Cost]


def run(runs: Runs, part: float) -> Found:
    """In this process, one after the other: their times are compared."""
    found = {}
    for where, change in ((GRIDS, ["pools.community.machines=0"]), (ALL, [])):
        scenario = runs.scenario(FILE, [*sized(FILE, part), *change])
        for how in (BAG, JOB):
            found[where, how] = _cost(scenario, BUFFER if how == JOB else 1)
    return found


def _cost(scenario: Scenario, buffer: int) -> Cost:
    began, tally = time.process_time(), Tally()
    (jobs,) = scenario.bags
    with _asked(jobs.terms.count, buffer, tally) as asked:
        World(scenario, 0, watch=tally).run()
    took_s = time.process_time() - began
    return Cost(jobs.terms.count, tally.requests.total(), asked[0], took_s)


@contextmanager
def _asked(jobs: int, buffer: int, tally: Tally) -> Iterator[list[int]]:
    """Counts each evaluation by the library of ClassAds (what is constant is not evaluated again).
    What the scheduler asks once for all jobs is asked here for each of those that wait in the
    buffer, as the paper's first algorithm does; the answers are the same."""
    found, asked = Expression.found, [0]

    def asking(self: Expression, scene: Scene) -> Value | No:
        waiting = jobs - tally.sent.total()
        times = max(min(waiting, buffer), 1) if self.name in OF_EACH_JOB else 1
        asked[0] += times * (self.value is None)
        for _ in range(times - 1):
            found(self, scene)
        return found(self, scene)

    Expression.found = asking  # type: ignore[method-assign]
    try:
        yield asked
    finally:
        Expression.found = found  # type: ignore[method-assign]


def rows(found: Found) -> str:
    head = ("machines", "policy asked", "paper: jobs/s", "ours, jobs/s of CPU", "requests",
            "evaluations", "for a request")  # fmt: skip
    lines = [
        (*case, PAPER[case], f"{one.rate:,.0f}", f"{one.requests:,}", f"{one.asked:,}",
         f"{one.each:.1f}")
        for case, one in found.items()
    ]  # fmt: skip
    return table(head, lines)


def claims(found: Found) -> list[Claim]:
    more = {where: found[where, JOB].each / found[where, BAG].each for where in (GRIDS, ALL)}
    slower = {where: found[where, BAG].rate / found[where, JOB].rate for where in (GRIDS, ALL)}
    return [
        Claim("without the shortcut a request costs many times as many evaluations",
              "10 times, in both cases", " and ".join(f"{one:.0f}" for one in more.values()),
              min(more.values()) >= 10),
        Claim("and fewer jobs are sent a second", "half, in both cases",
              " and ".join(f"one in {one:.1f}" for one in slower.values()),
              min(slower.values()) >= 2),
    ]  # fmt: skip
