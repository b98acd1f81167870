"""GridBot's great bag: days of throughput, an outage, and the spike behind it."""

from __future__ import annotations

import numpy as np

from studies.gridbot.size import sized
from studies.gridbot.tally import Told, tell
from studies.runs import Runs
from studies.table import deviation, table
from studies.verdict import Claim
from tailrace.simulation.laws import Floats

FILE = "gridbot-throughput.toml"
MEAN_S = 1800  # of a job
DAY, STEP_S = 86_400, 3600
OUT_FROM_S, OUT_TO_S = 10 * DAY, 10 * DAY + 6 * 3600
WHOLE = 20  # times what the file has
PAPER_DAYS, PAPER_YEARS, PAPER_CPUS = 15, 115, 2300
SHARES = {"madison": 20, "osg": 10, "egee": 16, "technion": 5, "community": 47}


def run(runs: Runs, part: float) -> Told:
    """One run: a bag of this size is its own mean."""
    (found,) = runs.told(FILE, {"great": sized(FILE, part)}, tell, most=1)["great"]
    return found


def throughput(told: Told) -> Floats:
    """Hour by hour, as the processors of an imaginary dedicated cluster: results times their mean
    length. The paper measures the processor time of the last 1,000 for that mean."""
    hours = int(told.took_s // STEP_S) + 1
    counts, _ = np.histogram(told.only.done_s, hours, (0, hours * STEP_S))
    return counts * MEAN_S / STEP_S


def _years(told: Told) -> float:
    return WHOLE * told.only.tasks * MEAN_S / DAY / 365


def _cpus(told: Told) -> float:
    return WHOLE * told.only.tasks * MEAN_S / told.took_s


def rows(told: Told) -> str:
    days = told.took_s / DAY
    lines = [
        ("days", f"{PAPER_DAYS}", f"{days:.1f}", deviation(days, PAPER_DAYS)),
        ("processor years", f"{PAPER_YEARS}", f"{_years(told):.0f}",
         deviation(_years(told), PAPER_YEARS, 0)),
        ("like so many dedicated processors", f"{PAPER_CPUS}", f"{_cpus(told):.0f}",
         deviation(_cpus(told), PAPER_CPUS, 0)),
    ]  # fmt: skip
    done = sum(told.results.values())
    for pool, paper in SHARES.items():
        ours = 100 * told.results[pool] / done
        lines.append((f"by {pool}, %", f"{paper}", f"{ours:.1f}", deviation(ours, paper)))
    return table(("", "paper", "ours", "deviation"), lines)


def around(told: Told) -> tuple[float, float, float]:
    """Throughput in a usual hour, while the network is down, and in the hour behind."""
    hourly = throughput(told)
    first, last = OUT_FROM_S // STEP_S, OUT_TO_S // STEP_S
    return (float(np.median(hourly[24:first])), float(hourly[first + 1 : last - 1].mean()),
            float(hourly[last]))  # fmt: skip


def claims(told: Told) -> list[Claim]:
    usual, out, spike = around(told)
    gaps = np.diff(throughput(told)[24 : OUT_FROM_S // STEP_S])
    return [
        Claim("results come evenly", "no hour twice as good as the one before",
              f"at most {np.abs(gaps).max() / usual:.0%} of a usual hour".replace("%", " %"),
              bool(np.abs(gaps).max() < usual)),
        Claim("none while the network is down", "0", f"{out:.0f}", out == 0),
        Claim("and a spike behind it, of work that was fetched before", "twice a usual hour",
              f"{spike:.0f} against {usual:.0f}", spike > 2 * usual),
    ]  # fmt: skip
