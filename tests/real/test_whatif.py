"""Real runs of some kinds, each as a scenario: with nothing changed, it lies among its seeds.
`python -m studies what_if` has them all.

Makespan and cost within the range of 95 % of 100 seeds, and their median within 5 %: quiet runs,
runs whose machines die, a task and a machine that are much slower than the others. A recorded run
is itself a draw of many that might have been, and this machine may be busy with something else. So
a kind that does not convince at once is run again, up to nine times in all: then most of its runs
must lie within that range, and the mean of the medians' distances must be within 5 %. With a
change, the median is much nearer to what a real run so changed came to than the run before was; no
number is asked for, since the load of this machine changes from one real run to the next.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median

import pytest
from studies.what_if import CHANGES, KINDS, beside_change, found, record

from tailrace.cli.virtual import whatif

SMALL = {
    "paid": KINDS["three machines with a price"]._replace(tasks=60),
    "straggling task": KINDS["one task of 6 s"],
    "unequal": KINDS["a slow and a fast one"]._replace(tasks=50),
    "dying": KINDS["three that die after 2.5 to 4 s"]._replace(tasks=100),
    "straggling machine": KINDS["one of three is slow"],
}
FIGURES = ("makespan_s", "cost_USD")
NEAR = 0.05
MOST = 9  # runs of a kind: if 95 % of all lie inside, 1 test in 100,000 never has a majority
AT_ONCE = 3  # they sleep most of the time


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first run of each kind, and both of each change."""
    base = tmp_path_factory.mktemp("runs")
    todo = [(kind, base / name / "1", 1) for name, kind in SMALL.items()]
    for name, change in CHANGES.items():
        todo += [
            (change.before, base / name / "before", 1),
            (change.after, base / name / "after", 1),
        ]
    with ThreadPoolExecutor(AT_ONCE) as room:
        list(room.map(lambda one: record(*one), todo))
    return base


Beside = dict[
    str, tuple[bool, float]
]  # of a figure: within the range of 95 % of the seeds, the median's distance


@pytest.mark.parametrize("name", SMALL)
def test_the_recorded_run_lies_among_the_simulated_ones(name: str, base: Path) -> None:
    told = [beside_seeds(base / name / "1")]
    while not convincing(told) and len(told) < MOST:
        again = base / name / str(len(told) + 1)
        record(SMALL[name], again, len(told) + 1)
        told.append(beside_seeds(again))
    assert convincing(told), told


@pytest.mark.parametrize("speed", ["0.85", "1.2"])
def test_a_world_of_another_speed_does_not_convince(speed: str, base: Path) -> None:
    assert not convincing([beside_seeds(base / "paid" / "1", f"pools.local.speed={speed}")])


def beside_seeds(folder: Path, change: str | None = None) -> Beside:
    run = whatif.measured(folder, None)
    compared = whatif.compare(whatif.recorded(run), found(run, change))
    return {figure: (compared[figure].inside, compared[figure].apart or 0.0) for figure in FIGURES}


def convincing(told: list[Beside]) -> bool:
    return all(
        2 * sum(one[figure][0] for one in told) > len(told)
        and abs(fmean(one[figure][1] for one in told)) <= NEAR
        for figure in FIGURES
    )


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
    (slowed,) = whatif.measured(base / "straggling machine" / "1", None).pools
    slowness = [pace / speed for pace, speed in zip(slowed.paces, slowed.speeds, strict=True)]
    assert 2.5 <= max(slowness) / median(slowness) <= 5
    straggling = whatif.measured(base / "straggling task" / "1", None)
    assert set(straggling.pools[0].paces) == {1.0}
    assert max(straggling.run_us.values()) == straggling.run_us[0]


def test_a_faster_pool_is_known_to_be_faster(base: Path) -> None:
    """Twice as fast; the start of each task takes as long on either, under load rather long."""
    run = whatif.measured(base / "unequal" / "1", None)
    slowness = {one.terms.name: one.slope / one.speeds[0] for one in run.pools}
    assert slowness["slow"] > 1.4 * slowness["fast"]
