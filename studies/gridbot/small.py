"""GridBot's Figure 8: what policies do to the turnaround of small bags."""

from __future__ import annotations

from studies.gridbot.size import sized
from studies.gridbot.tally import Bag, Told, tell
from studies.runs import Runs, over
from studies.table import mean, table
from studies.verdict import Claim, known
from tailrace.simulation.running import Running

FILE = "gridbot-small.toml"
SEEDS = 15
SUBMITTED_S = 7200
POLICIES = {
    "b5": ("1", "Tail ? Technion : Grids"),
    "b4": ("1", "Grids, of good reputation"),
    "b3": ("1", "Grids"),
    "b2": ("10 on hosts without errors, else 1", "Grids"),
    "b1": ("10", "Grids"),
}


def run(runs: Runs, part: float) -> list[Told]:
    found: list[Told] = runs.told(FILE, {"small": sized(FILE, part)}, tell, SEEDS)["small"]
    return found


def tail_min(bag: Bag) -> float:
    """From a tenth left to the end."""
    return (float(bag.done_s[-1]) - bag.left_s(bag.tasks // 10)) / 60


def _tails(found: list[Told], name: str) -> Running:
    return over(found, lambda told: tail_min(told.bags[name]))


def _turnarounds(found: list[Told], name: str) -> Running:
    return over(found, lambda told: (float(told.bags[name].done_s[-1]) - SUBMITTED_S) / 60)


def rows(found: list[Told]) -> str:
    head = ("bag", "Concurrency", "JobRequirements", "turnaround, min", "the last tenth, min",
            "replicas, %")  # fmt: skip
    lines = []
    for name, policies in POLICIES.items():
        replicas = over(found, lambda told, bag=name: told.bags[bag].replicas_percent)  # type: ignore[misc]
        lines.append((name.upper(), *policies, mean(_turnarounds(found, name)),
                      mean(_tails(found, name)), mean(replicas)))  # fmt: skip
    return table(head, lines)


def claims(found: list[Told]) -> list[Claim]:
    tails = {name: _tails(found, name).mean for name in POLICIES}
    return [
        known(Claim("hosts of good reputation: a shorter tail than all hosts", "by order",
                    _told(tails, "b4", "b3"), tails["b4"] < tails["b3"])),
        Claim("bundles of ten: a longer tail than single jobs", "by order",
              _told(tails, "b1", "b3"), tails["b1"] > tails["b3"]),
        Claim("the small cluster for the tail: a longer one than good hosts", "by order",
              _told(tails, "b5", "b4"), tails["b5"] > tails["b4"]),
    ]  # fmt: skip


def _told(tails: dict[str, float], one: str, other: str) -> str:
    return f"{one.upper()} {tails[one]:.1f}, {other.upper()} {tails[other]:.1f} min"
