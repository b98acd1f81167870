"""Real runs of some kinds, each as a scenario: with nothing changed, it lies among its seeds.
`python -m studies what_if` has them all.

Makespan and cost among those of 100 seeds, and their median within 5 %: quiet runs, runs whose
machines die, a task and a machine that are much slower than the others. When machines die, or one
is slow, the recorded run is itself a draw of many that might have been: of three such runs the
mean is asked for, and a standard error is granted to it. With a change, the median is much nearer
to what a real run so changed came to than the run before was; no number is asked for, since the
load of this machine changes from one real run to the next.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median, stdev

import pytest
from studies.what_if import CHANGES, KINDS, beside_change, found, record

from tailrace.cli import whatif

THRICE, ONCE = (1, 2, 3), (1,)
SMALL = {
    "paid": (KINDS["three machines with a price"]._replace(tasks=60), ONCE),
    "straggling task": (KINDS["one task of 6 s"], ONCE),
    "unequal": (KINDS["a slow and a fast one"]._replace(tasks=50), ONCE),
    "dying": (KINDS["three that die after 2.5 to 4 s"]._replace(tasks=100), THRICE),
    "straggling machine": (KINDS["one of three is slow"], THRICE),
}
AT_ONCE = 3  # they sleep most of the time


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All runs of this file."""
    base = tmp_path_factory.mktemp("runs")
    todo = [(kind, base / name / str(seed), seed) for name, (kind, seeds) in SMALL.items()
            for seed in seeds]  # fmt: skip
    for name, change in CHANGES.items():
        todo += [
            (change.before, base / name / "before", 1),
            (change.after, base / name / "after", 1),
        ]
    with ThreadPoolExecutor(AT_ONCE) as room:
        list(room.map(lambda one: record(*one), todo))
    return base


def recorded(base: Path, name: str) -> list[Path]:
    return [base / name / str(seed) for seed in SMALL[name][1]]


@pytest.mark.parametrize("name", SMALL)
def test_the_recorded_run_lies_among_the_simulated_ones(name: str, base: Path) -> None:
    runs = [whatif.measured(path, None) for path in recorded(base, name)]
    told = [(whatif.recorded(run), found(run)) for run in runs]
    for figure in ("makespan_s", "cost_USD"):
        for run, among in told:
            value, values = run.figures[figure], [one[figure] for one in among]
            assert min(values) <= value <= max(values), (figure, value, min(values), max(values))
        apart = [whatif.compare(run, among)[figure].apart or 0.0 for run, among in told]
        granted = _standard_error([[one[figure] for one in among] for _, among in told])
        assert abs(fmean(apart)) <= 0.05 + granted, (figure, apart, granted)


def _standard_error(seeds: list[list[float]]) -> float:
    """Of the mean of several runs, as a share; none for one that is no draw among others."""
    if len(seeds) == 1:
        return 0.0
    return fmean(stdev(values) / fmean(values) for values in seeds) / math.sqrt(len(seeds))


@pytest.mark.parametrize("name", CHANGES)
def test_a_run_so_changed_comes_to_what_was_foretold(name: str, base: Path) -> None:
    foretold = beside_change(CHANGES[name], base / name)["makespan_s"]
    before = whatif.recorded(whatif.measured(base / name / "before", None)).figures["makespan_s"]
    changed_by, missed_by = (abs(one - foretold.recorded) for one in (before, foretold.median))
    assert missed_by <= changed_by / 2, (before, foretold)


def test_machines_that_were_killed_are_known_to_have_died(base: Path) -> None:
    (dying,) = whatif.measured(base / "dying" / "1", None).pools
    died = [life.died for life in dying.lifetimes]
    assert any(died) and not all(died)
    (spared,) = whatif.measured(base / "paid" / "1", None).pools
    assert [life.died for life in spared.lifetimes] == [False, False, False]


def test_slow_machines_and_slow_tasks_are_told_apart(base: Path) -> None:
    """One of three has a quarter of the speed; and one task takes as long as twenty others."""
    runs = [whatif.measured(path, None) for path in recorded(base, "straggling machine")]
    slowest = [max(run.pools[0].paces) for run in runs]
    assert 2.5 <= median(slowest) <= 5, slowest
    straggling = whatif.measured(base / "straggling task" / "1", None)
    assert set(straggling.pools[0].paces) == {1.0}
    assert max(straggling.run_us.values()) == straggling.run_us[0]


def test_a_faster_pool_is_known_to_be_faster(base: Path) -> None:
    """Twice as fast; the start of each task takes as long on either, under load rather long."""
    run = whatif.measured(base / "unequal" / "1", None)
    slopes = {one.terms.name: one.slope for one in run.pools}
    assert slopes["slow"] > 1.4 * slopes["fast"]
