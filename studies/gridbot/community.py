"""GridBot's Figure 9: replication with several bags in the queue, volunteers among the machines."""

from __future__ import annotations

from typing import NamedTuple

from studies.gridbot.replication import less
from studies.gridbot.size import sized
from studies.gridbot.tally import Told, tell
from studies.runs import Runs, over
from studies.table import deviation, mean, table
from studies.verdict import Claim, known
from tailrace.simulation.running import Running

FILE = "gridbot-community.toml"
SEEDS, FEWER = 20, 6
WIDER = (
    "bags.r4.policy.ReplicationRequirements='NumberOfReplicas < 5 && JobsLeft < 200'",
    "bags.r4.policy.JobRequirements='JobsLeft >= 200 || Host.Pool != \"community\"'",
)
PRINTED, LATER, RUN_ON = "threshold as printed", "twice the threshold", "losers run on"


class Paper(NamedTuple):
    replication: str
    matching: str
    replicas: int
    waste: int


PAPER = {
    "r1": Paper("permissive", "permissive", 188, 105),
    "r2": Paper("permissive", "restrictive 1", 129, 75),
    "r3": Paper("restrictive 1", "restrictive 1", 49, 25),
    "r4": Paper("restrictive 2", "restrictive 2", 35, 21),
}
Found = dict[str, list[Told]]


def run(runs: Runs, part: float) -> Found:
    size = sized(FILE, part)
    found: Found = runs.told(FILE, {PRINTED: size}, tell, SEEDS)
    on = [f"bags.{name}.policy.losers='run on'" for name in PAPER]
    beside = {LATER: [*size, *WIDER], RUN_ON: [*size, *on]}
    return {**found, **runs.told(FILE, beside, tell, FEWER)}


def _replicas(told: list[Told], name: str) -> Running:
    return over(told, lambda one: one.bags[name].replicas_percent)


def _waste(told: list[Told], name: str) -> Running:
    return over(told, lambda one: one.bags[name].waste_percent)


def _hours(told: list[Told], name: str) -> Running:
    return over(told, lambda one: one.bags[name].took_s / 3600)


def rows(found: Found) -> str:
    head = ("bag", "replication", "matching", "paper: replicas, %", "ours", "deviation",
            "paper: waste, %", "ours", "deviation", "turnaround, h")  # fmt: skip
    lines = []
    for name, paper in PAPER.items():
        replicas, waste = _replicas(found[PRINTED], name), _waste(found[PRINTED], name)
        lines.append((name.upper(), paper.replication, paper.matching,
                      f"{paper.replicas}", mean(replicas), deviation(replicas.mean, paper.replicas),
                      f"{paper.waste}", mean(waste), deviation(waste.mean, paper.waste),
                      mean(_hours(found[PRINTED], name))))  # fmt: skip
    return table(head, lines)


def run_on(found: Found) -> str:
    head = ("bag", "losers run on: replicas, %", "waste, %", "turnaround, h")
    told = found[RUN_ON]
    return table(head, [
        (name.upper(), mean(_replicas(told, name)), mean(_waste(told, name)),
         mean(_hours(told, name)))
        for name in PAPER
    ])  # fmt: skip


def wider(found: Found) -> str:
    return mean(_hours(found[LATER], "r4"))


def claims(found: Found) -> list[Claim]:
    """By the means: a few tasks of volunteers decide how long a bag takes."""
    replicas = [_replicas(found[PRINTED], name).mean for name in PAPER]
    waste = [_waste(found[PRINTED], name).mean for name in PAPER]
    took = [_hours(found[PRINTED], name) for name in PAPER]
    hours, longest = [one.mean for one in took], max(took[1:], key=lambda one: one.mean)
    return [
        Claim("replicas fall from R1 to R3", "by order", _percents(replicas[:3]),
              _falls(replicas[:3])),
        Claim("and so does waste", "by order", _percents(waste[:3]), _falls(waste[:3])),
        known(Claim("R4 makes fewest replicas, and wastes least", "by order",
                    f"{_percents(replicas[2:])} of R3 and R4, {_percents(waste[2:])}",
                    _falls(replicas[2:]) and _falls(waste[2:]))),
        known(Claim("R1 takes longer than R2, and R2 than R3", "by order",
                    ", ".join(f"{one:.1f}" for one in hours[:3]) + " h", _falls(hours[:3]))),
        known(Claim("R4 is slow", "longer than R3",
                    f"{hours[3]:.1f} against {hours[2]:.1f} h", hours[3] > hours[2])),
        known(Claim("R1 takes longest", "by order, beyond the intervals",
                    f"{mean(took[0])} against at most {mean(longest)} h", less(longest, took[0]))),
    ]  # fmt: skip


def _falls(values: list[float]) -> bool:
    return values == sorted(values, reverse=True)


def _percents(values: list[float]) -> str:
    return ", ".join(f"{value:.0f}" for value in values) + " %"
