"""GridBot: the same work in five times as many jobs."""

from __future__ import annotations

from studies.gridbot.size import sized
from studies.gridbot.tally import Told, tell
from studies.runs import SCENARIOS, Runs
from studies.table import deviation, table
from studies.verdict import Claim
from tailrace.bag.tables import read_toml

FILE = "gridbot-split.toml"
PARTS = 5
WHOLE = 5  # times what the file has
SHORTER = '{ law = "uniform", from = "2m", to = "10m" }'
PAPER = {"42,200 jobs": (4.0, 20.0), "each in five": (18.0, 93.0)}  # requests and jobs a second
ONE, FIVE = PAPER
Found = dict[str, Told]


def run(runs: Runs, part: float) -> Found:
    whole = sized(FILE, part)
    tasks = round(part * read_toml((SCENARIOS / FILE).read_text(), FILE)["bags"]["jobs"]["tasks"])
    shorter = [*whole, f"bags.jobs.tasks={PARTS * tasks}", f"bags.jobs.length={SHORTER}"]
    found = runs.told(FILE, {ONE: whole, FIVE: shorter}, tell, most=1)
    return {case: told for case, (told,) in found.items()}


def _steady(by_minute: list[int]) -> float:
    """A second, in the middle half of the run."""
    quarter = len(by_minute) // 4
    middle = by_minute[quarter : len(by_minute) - quarter]
    return sum(middle) / len(middle) / 60


def _rates(by_minute: list[int]) -> tuple[float, float]:
    """A second, in the best minute and usually."""
    return max(by_minute) / 60, _steady(by_minute)


def rows(found: Found) -> str:
    head = ("", "paper: requests/s, at most", "ours, at most", "ours, usually",
            "paper: jobs/s, at most", "ours, at most", "deviation", "ours, usually",
            "hours")  # fmt: skip
    lines = []
    for case, (requests, jobs) in PAPER.items():
        told = found[case]
        most, usually = (WHOLE * rate for rate in _rates(told.requests))
        sent, on_average = (WHOLE * rate for rate in _rates(told.sent))
        lines.append((case, f"{requests:g}", f"{most:.1f}", f"{usually:.1f}", f"{jobs:g}",
                      f"{sent:.1f}", deviation(sent, jobs), f"{on_average:.1f}",
                      f"{told.took_s / 3600:.2f}"))  # fmt: skip
    return table(head, lines)


def claims(found: Found) -> list[Claim]:
    whole, split = found[ONE], found[FIVE]
    more = _steady(split.requests) / _steady(whole.requests)
    longer = split.took_s / whole.took_s
    return [
        Claim("five times as many jobs: four to six times as many requests", "the paper has 4.5",
              f"{more:.1f}", 4 <= more <= 6),
        Claim("and no loss of throughput", "2 %", f"{longer:.3f} times as long", longer <= 1.02),
    ]  # fmt: skip
