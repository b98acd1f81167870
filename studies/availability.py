"""Chapter 3 of Chtepen's thesis: what ten unreliable desktop machines lose (3.2, 3.3)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from studies import renewal
from studies.runs import Figures, Runs, jobs_lost, over, unavailable, work_lost
from studies.table import deviation, mean, table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Claim, all_near, apart, claims, known
from tailrace.simulation.laws import Uniform

FILE = "availability.toml"
MACHINES, JOB_EVERY = 10, 3.0  # minutes
JOBS = {"short": 10, "medium": 90, "long": 210}  # minutes
PRINTED = {"short": 3, "medium": 34, "long": 57}  # % of work lost at 5 % unavailability (3.3)


class Row(NamedTuple):
    """Of Table 3.1: its label, and the ends of the two uniform laws."""

    label: int
    up_to: int
    down_to: int

    @property
    def up(self) -> Uniform:
        return Uniform(1, self.up_to)

    @property
    def down(self) -> Uniform:
        return Uniform(1, self.down_to)

    def changes(self, minutes: int, unit: str = "m") -> list[str]:
        up, down = "pools.desktop.up", "pools.desktop.down"
        ends = [f"{up}.from=1{unit}", f"{up}.to={self.up_to}{unit}"]
        ends += [f"{down}.from=1{unit}", f"{down}.to={self.down_to}{unit}"]
        return [*ends, f"bags.jobs.length={minutes}m"]


ROWS = (
    Row(100, 500, 40), Row(95, 400, 60), Row(80, 300, 100), Row(70, 300, 150), Row(60, 300, 200),
    Row(50, 200, 200), Row(30, 200, 280), Row(20, 200, 350), Row(15, 100, 350), Row(10, 50, 350),
    Row(5, 20, 350),
)  # fmt: skip
Found = dict[tuple[Row, str], list[Figures]]


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    cases = {(row, job): row.changes(JOBS[job]) for row in ROWS for job in JOBS}
    found = runs.of(FILE, cases)
    return PAGE.format(
        seeds=runs.seeds,
        availability=_availability(found),
        within=_within(found),
        lost=_lost(found),
        printed=_printed(found),
        jumps=_jumps(found),
        seconds=_seconds(runs),
        claims=claims(*_claims(found)),
    )


def _availability(found: Found) -> str:
    head = ("label in the thesis, %", "up, min", "down, min", "renewal theory, %", "ours, %",
            "ours − thesis", "ours − theory")  # fmt: skip
    return table(head, [_availability_row(row, found[row, "short"]) for row in ROWS])


def _availability_row(row: Row, found: list[Figures]) -> tuple[str, ...]:
    theory, ours = renewal.availability(row.up, row.down), over(found, _available)
    laws = (f"U(1, {row.up_to})", f"U(1, {row.down_to})")
    return (f"{row.label}", *laws, f"{theory:.2f}", mean(ours, 2),
            deviation(ours.mean, row.label), deviation(ours.mean, theory, 2))  # fmt: skip


def _within(found: Found) -> str:
    near = 0
    for row in ROWS:
        ours = over(found[row, "short"], _available)
        near += abs(ours.mean - renewal.availability(row.up, row.down)) <= ours.half_width
    return f"{near} of {len(ROWS)}"


def _available(figures: Figures) -> float:
    return 100 * figures["availability"]


def _lost(found: Found) -> str:
    head = ["label"]
    for job in JOBS:
        head += [f"{job}: jobs", "theory", "work", "theory"]
    return table(head, [_lost_row(row, found) for row in ROWS])


def _lost_row(row: Row, found: Found) -> list[str]:
    cells = [f"{row.label}"]
    for job, minutes in JOBS.items():
        runs = found[row, job]
        theory = renewal.lost(row.up, row.down, minutes, 1 / JOB_EVERY / MACHINES)
        star = "" if theory.busy else "*"
        cells += [mean(over(runs, jobs_lost)), f"{theory.jobs:.1f}{star}",
                  mean(over(runs, work_lost)), f"{theory.work:.1f}{star}"]  # fmt: skip
    return cells


def _printed(found: Found) -> str:
    head = ("jobs", "thesis, %", "ours, jobs lost, %", "deviation", "ours, work lost, %",
            "deviation")  # fmt: skip
    return table(head, [_printed_row(job, found[ROWS[0], job]) for job in JOBS])


def _printed_row(job: str, found: list[Figures]) -> tuple[str, ...]:
    jobs, work = over(found, jobs_lost), over(found, work_lost)
    thesis = PRINTED[job]
    return (f"{job}, {JOBS[job]} min", f"{thesis}", mean(jobs), deviation(jobs.mean, thesis),
            mean(work), deviation(work.mean, thesis))  # fmt: skip


def _jumps(found: Found) -> str:
    """Unavailabilities that the text names, by the rows whose laws change as it says."""
    by_label = {row.label: row for row in ROWS}
    head = ("label", "thesis: unavailable, %", "ours, %", "deviation", "medium jobs lost, %",
            "long jobs lost, %")  # fmt: skip
    rows = []
    for label, thesis in ((60, 36), (50, 50), (30, 61)):
        row = by_label[label]
        ours = over(found[row, "short"], unavailable)
        lost = [mean(over(found[row, job], jobs_lost)) for job in ("medium", "long")]
        rows.append((f"{label}", f"{thesis:g}", mean(ours), deviation(ours.mean, thesis), *lost))
    return table(head, rows)


def _seconds(runs: Runs) -> str:
    """One day is enough: nothing ends."""
    case = [*ROWS[0].changes(JOBS["short"], "s"), "stop.time=1d"]
    (found,) = runs.of(FILE, {"seconds": case}).values()
    done = over(found, lambda figures: figures["tasks_done"])
    return f"{done.mean:g} of {over(found, lambda f: f['tasks_submitted']).mean:.0f}"


def _claims(found: Found) -> list[Claim]:
    theory = {row: renewal.availability(row.up, row.down) for row in ROWS}
    shares = [apart(over(found[row, "short"], _available), theory[row], 0.1) for row in ROWS]
    losses = []
    for (row, job), runs in found.items():
        lost = renewal.lost(row.up, row.down, JOBS[job], 1 / JOB_EVERY / MACHINES)
        losses += [apart(over(runs, jobs_lost), lost.jobs, 0.5)]
        losses += [apart(over(runs, work_lost), lost.work, 0.5)]
    return [
        all_near("availability is that of renewal theory", _bound(0.1), shares, "points"),
        all_near("jobs and work lost are those of theory", _bound(0.5), losses, "points"),
        _as_printed(found, "long"),
        known(_as_printed(found, "short")),
        known(_as_printed(found, "medium")),
    ]


def _as_printed(found: Found, job: str) -> Claim:
    """The thesis prints whole percents."""
    lost = over(found[ROWS[0], job], jobs_lost)
    what = f"{job} jobs are lost as the thesis prints"
    claim = all_near(what, _bound(0.5), [apart(lost, PRINTED[job], 0.5)], "points")
    return claim._replace(found=f"{lost.mean:.1f} against {PRINTED[job]} %; {claim.found}")


def _bound(points: float) -> str:
    return f"{points:g} points, or twice the half width of the interval"


PAGE = """\
# Availability of a desktop grid

Chapter 3 of the thesis: ten machines that run one job each, at the speed of the reference machine;
a job every one to five minutes; five weeks. A machine fails, and its job is lost: nothing is begun
again. Eleven rows of failure and repair laws, three lengths of jobs, {seeds} seeds of each.

`make studies`, or `python -m studies availability`, writes this page. The scenario is
`studies/scenarios/availability.toml`; a row of it is

```
tailrace simulate studies/scenarios/availability.toml \\
    --set pools.desktop.up.to=400m --set pools.desktop.down.to=60m --set bags.jobs.length=90m
```

## Whether it holds

{claims}

## Availability

{availability}

Theory is the share of the mean up time in the mean cycle. Ours lies within its interval of it in
{within} rows; rows err together, because they are drawn from the same random numbers. The labels
of Table 3.1 are not what its laws give, at either end: no reading of the table makes U(1, 500) and
U(1, 40) an availability of 100 %. They look like names of settings, chosen beforehand, not like
measurements.

## What is lost

Percent of the jobs that ended, and of the work that was done. The thesis has this in a figure
whose numbers are not printed, so theory stands beside ours. A star: jobs that come to mostly idle
machines and begin at a random instant of an up time; otherwise the machines always have a job, and
an up time ends with a lost one.

{lost}

Where some machines idle and others do not, as with short jobs from 60 % down to 20 %, neither
formula is exact.

## The numbers that are printed

"At 5 % unavailability" 3, 34 and 57 % of the work are lost (3.3). The row nearest to that
unavailability is the first.

{printed}

Long jobs are lost as printed. Of short ones, the printed 3 % lie between the jobs that we lose and
the work. Of medium ones we lose 30.3 % where the thesis has 34, and renewal theory says 30.3, too:
the three numbers belong to no one row. An up time of U(1, 435)
would lose 34 % of the medium jobs, but then 64 % of the long ones in place of 57; and the next row
of the table loses 36 and 68 %. The thesis does not say how it counts lost work, nor which row this
is.

The text compares three unavailabilities. From the first to the second only the failure law
changes, and medium jobs "fall suddenly"; from the second to the third only the repair law, and the
effect is small. So it is here: what a job meets while it runs depends on the failure law alone.

{jumps}

## Minutes or seconds?

Table 3.1 prints its laws in seconds. The longest up time would then be 500 s, and a job of ten
minutes could never end; with the first row in seconds, in one day, {seconds} short jobs were done.
The thesis reports that 3 % of such work is lost, so the laws must be in minutes, as they are
above. With minutes, losses have the size of those printed. This is inferred, not stated there.

Left out, because the thesis gives no sizes for it: the transfer of data (100 Mbit/s, 10 ms).
"""
