"""GridBot's Figure 7: fifty bags of ranks 1 to 50 are done one after the other."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

from studies.gridbot.size import sized
from studies.gridbot.tally import Bag, Told, tell
from studies.runs import Runs
from studies.table import table
from studies.verdict import Claim

FILE = "gridbot-ranks.toml"
LEFT = (1000, 500, 100, 50, 0)  # of 1,200 in the paper
WHOLE = 1200
MOST_OUT_OF_ORDER = 5  # %, of neighbours, while 100 of the paper's 1,200 are left


def run(runs: Runs, part: float) -> Told:
    """One run, as in the paper: each of its bags is a case."""
    (found,) = runs.told(FILE, {"ranks": sized(FILE, part)}, tell, most=1)["ranks"]
    return found


def by_rank(told: Told) -> list[Bag]:
    """The highest first, as they should run."""
    return list(told.bags.values())[::-1]


def left(bag: Bag, of_paper: int) -> int:
    """As many of its tasks as these are of the paper's bag."""
    return round(bag.tasks * of_paper / WHOLE)


def curve_min(told: Told, of_paper: int) -> list[float]:
    """When so many were left of each bag."""
    return [bag.left_s(left(bag, of_paper)) / 60 for bag in by_rank(told)]


def _out_of_order(told: Told, of_paper: int) -> int:
    """Neighbours of which the lower rank came first."""
    curve = curve_min(told, of_paper)
    return sum(later < sooner for sooner, later in pairwise(curve))


def rows(told: Told) -> str:
    head = ("left of 1,200", "ours", "paper: neighbours out of order", "ours, of 49",
            "first bag, min", "last bag, min")  # fmt: skip
    paper = {1000: "0", 500: "“closely follows”", 100: "deviations begin below"}
    lines = []
    for count in LEFT:
        curve = curve_min(told, count)
        lines.append((f"{count}", f"{left(by_rank(told)[0], count)}", paper.get(count, ""),
                      f"{_out_of_order(told, count)}", f"{curve[0]:.0f}",
                      f"{curve[-1]:.0f}"))  # fmt: skip
    return table(head, lines)


def turnarounds(told: Told) -> str:
    """Figure 7(b)."""
    bags = by_rank(told)
    tens = [bags[begin : begin + 10] for begin in range(0, len(bags), 10)]
    lines = [
        (f"{len(bags) - 10 * number} to {max(len(bags) - 10 * number - 9, 1)}",
         f"{fmean(_minutes(ten)):.1f}", f"{min(_minutes(ten)):.1f} … {max(_minutes(ten)):.1f}")
        for number, ten in enumerate(tens)
    ]  # fmt: skip
    return table(("bags in the queue", "turnaround, min", "least … most"), lines)


def _minutes(bags: list[Bag]) -> list[float]:
    return [bag.took_s / 60 for bag in bags]


def claims(told: Told) -> list[Claim]:
    bags, whole = by_rank(told), LEFT[:2]
    wrong = sum(_out_of_order(told, count) for count in whole)
    few = _out_of_order(told, 100)
    half = len(bags) // 2
    many, fewer = fmean(_minutes(bags[:half])), fmean(_minutes(bags[half:]))
    return [
        Claim("bags run in the order of their ranks until 500 are left", "none out of order",
              f"{wrong} of {2 * (len(bags) - 1)}", wrong == 0),
        Claim("and mostly until 100 are", f"{MOST_OUT_OF_ORDER} % out of order",
              f"{few} of {len(bags) - 1}", 100 * few <= MOST_OUT_OF_ORDER * (len(bags) - 1)),
        Claim("turnaround does not grow with the bags in the queue", "25 %",
              f"{many:.1f} min with more than half, {fewer:.1f} with less",
              many <= 1.25 * fewer),
    ]  # fmt: skip
