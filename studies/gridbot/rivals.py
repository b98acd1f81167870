"""GridBot's policies beside a plain BOINC server, and beside matching as Condor does it."""

from __future__ import annotations

from typing import NamedTuple

from studies.gridbot.size import sized
from studies.gridbot.tally import Told, tell
from studies.runs import Runs, over
from studies.table import deviation, mean, table
from studies.verdict import Claim
from tailrace.simulation.running import Running

BOINC, CONDOR = "gridbot-boinc.toml", "gridbot-condor.toml"
SEEDS = 3
POLICIES, NAIVE, MATCHING = "GridBot's policies", "plain BOINC", "plain Condor"
DEADLINE_ALONE = ("bags.jobs.policy={ Deadline = 259200 }",)
ROUNDS = ("bags.jobs.policy={ Deadline = 1200 }", "bags.jobs.round=5m")


class Case(NamedTuple):
    paper: float
    unit_s: int
    spread: int = 0  # as the paper prints it

    @property
    def printed(self) -> str:
        return f"{self.paper:g} ± {self.spread}" if self.spread else f"{self.paper:g}"


BESIDE_BOINC = {POLICIES: Case(8, 3600), NAIVE: Case(280, 3600)}
BESIDE_CONDOR = {POLICIES: Case(53, 60, 10), MATCHING: Case(170, 60, 41)}


class Found(NamedTuple):
    boinc: dict[str, list[Told]]
    condor: dict[str, list[Told]]


def run(runs: Runs, part: float) -> Found:
    boinc, condor = sized(BOINC, part), sized(CONDOR, part)
    return Found(
        runs.told(BOINC, {POLICIES: boinc, NAIVE: [*boinc, *DEADLINE_ALONE]}, tell, SEEDS),
        runs.told(CONDOR, {POLICIES: condor, MATCHING: [*condor, *ROUNDS]}, tell, SEEDS),
    )


def _took(told: list[Told], unit_s: int) -> Running:
    return over(told, lambda one: one.took_s / unit_s)


def boinc_rows(found: Found) -> str:
    return _rows(found.boinc, BESIDE_BOINC, "h")


def condor_rows(found: Found) -> str:
    return _rows(found.condor, BESIDE_CONDOR, "min")


def _rows(found: dict[str, list[Told]], cases: dict[str, Case], unit: str) -> str:
    lines = []
    for name, case in cases.items():
        ours = _took(found[name], case.unit_s)
        replicas = over(found[name], lambda told: told.only.replicas_percent)
        lines.append((name, case.printed, mean(ours), deviation(ours.mean, case.paper),
                      mean(replicas)))  # fmt: skip
    paper, ours = (one for one in _ratios(found, cases))
    lines.append(
        ("so many times as long", f"{paper:.1f}", f"{ours:.1f}", deviation(ours, paper), "")
    )
    return table(("by", f"paper, {unit}", f"ours, {unit}", "deviation", "replicas, %"), lines)


def _ratios(found: dict[str, list[Told]], cases: dict[str, Case]) -> tuple[float, float]:
    """In the paper, and ours."""
    (fast, by_policies), (slow, by_other) = cases.items()
    took = [_took(found[name], 1).mean for name in (fast, slow)]
    return by_other.paper / by_policies.paper, took[1] / took[0]


def claims(found: Found) -> list[Claim]:
    _, boinc = _ratios(found.boinc, BESIDE_BOINC)
    _, condor = _ratios(found.condor, BESIDE_CONDOR)
    few = over(found.condor[POLICIES], lambda told: told.only.replicas_percent).mean
    return [
        Claim("a plain BOINC server takes ten times as long, or more", "10 times",
              f"{boinc:.1f} times", boinc >= 10),
        Claim("plain Condor takes longer", "1.5 times", f"{condor:.1f} times", condor >= 1.5),
        Claim("few of those short jobs are replicated", "2 %; the paper has less than 1",
              f"{few:.1f} %", few <= 2),
    ]  # fmt: skip
