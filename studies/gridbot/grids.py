"""What the virtual grids do to jobs, measured: how many are preempted, and how long they take."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from studies.gridbot.tally import SECOND
from studies.runs import Runs
from studies.table import table
from studies.verdict import Claim, known
from tailrace.bag.outcome import Outcome
from tailrace.scheduler.decisions import Assign, Close
from tailrace.scheduler.events import AnyEvent
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

FILE = "gridbot-boinc.toml"
GRIDS, VOLUNTEERS = "grids", "volunteers"
LENGTH_S = 2400  # of a volunteer's job, on machines of one speed
COLLABORATIVE = ("madison", "madison-flaky", "osg", "osg-flaky", "egee", "egee-flaky")
PLAIN = ("bags.jobs.policy={ Deadline = 259200 }", "pools.technion.machines=0")
CASES = {
    GRIDS: (*PLAIN, "pools.community.machines=0", "bags.jobs.tasks=5000",
            'bags.jobs.length={ law = "uniform", from = "20m", to = "60m" }'),
    VOLUNTEERS: (*PLAIN, *(f"pools.{name}.machines=0" for name in COLLABORATIVE),
                 "pools.community.speed=1", "bags.jobs.tasks=2000",
                 f"bags.jobs.length={LENGTH_S}"),
}  # fmt: skip


class Seen(NamedTuple):
    outcomes: dict[str, int]
    ratios: list[float]  # execution over turnaround, of results

    @property
    def preempted_percent(self) -> float:
        return 100 * self.outcomes[Outcome.PREEMPTED] / sum(self.outcomes.values())


Found = dict[str, Seen]


class Watch:
    """From sending to the end of each attempt."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.took_s: list[float] = []
        self._sent: dict[int, int] = {}

    def __call__(self, event: AnyEvent, decisions: list[Any], now: int) -> None:
        for decision in decisions:
            if type(decision) is Assign:
                self._sent[decision.attempt] = now
            elif type(decision) is Close:
                self._closed(decision, now)

    def _closed(self, end: Close, now: int) -> None:
        self.outcomes[end.outcome] += 1
        took_us = now - self._sent.pop(end.attempt)
        if end.accepted:
            self.took_s.append(took_us / SECOND)


def watched(scenario: Scenario, seed: int) -> Seen:
    watch = Watch()
    World(scenario, seed, watch=watch).run()
    counts = {outcome: watch.outcomes[outcome] for outcome in Outcome}
    return Seen(counts, [LENGTH_S / took for took in watch.took_s])


def run(runs: Runs) -> Found:
    found = runs.told(FILE, CASES, watched, most=1)
    return {case: seen for case, (seen,) in found.items()}


def rows(found: Found) -> str:
    preempted, ratios = found[GRIDS].preempted_percent, np.array(found[VOLUNTEERS].ratios)
    lines = [
        ("collaborative grids: preempted of jobs of 20 to 60 minutes, %", "about 10",
         f"{preempted:.1f}"),
        ("volunteers: execution over turnaround, on average", "0.3", f"{ratios.mean():.2f}"),
        ("least … most", "0.01 … 1", f"{ratios.min():.2f} … {ratios.max():.2f}"),
    ]  # fmt: skip
    return table(("measured", "paper", "ours"), lines)


def claims(found: Found) -> list[Claim]:
    preempted = found[GRIDS].preempted_percent
    ratio = float(np.mean(found[VOLUNTEERS].ratios))
    return [
        known(Claim("the grids preempt about a tenth of such jobs, as the paper's did",
                    "8 to 12 %", f"{preempted:.1f} %", 8 <= preempted <= 12)),
        Claim("volunteers: execution over turnaround as in the paper", "0.25 to 0.35",
              f"{ratio:.2f}", 0.25 <= ratio <= 0.35),
    ]  # fmt: skip
