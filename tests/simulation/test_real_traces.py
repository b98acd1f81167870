"""Recorded lives and run times, loaded, fitted, and used in scenarios that run."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean, stdev

import pytest
from scipy.special import stdtrit
from studies import data, real_traces, renewal
from studies.runs import Runs

from tailrace.simulation.fitting import best_fit
from tailrace.simulation.laws import Changed, Exponential, Weibull
from tailrace.simulation.traces import lifetime_law

SEEDS = 16
SURE = float(stdtrit(SEEDS - 1, 1 - 0.001 / 2))  # standard errors: 99.9 % by Student's t


@pytest.fixture(scope="module")
def place() -> Path:
    found = data.folder()
    if found is None:
        pytest.skip("TAILRACE_DATA does not name the folder of real traces")
    return found


def test_the_renewal_function_of_exponential_lives_is_a_line() -> None:
    assert renewal.failures(Exponential(50.0), 300) == pytest.approx(6, rel=0.02)


def test_nodes_of_los_alamos_fail_as_often_as_their_fitted_law_says(place: Path) -> None:
    """Weibull lives, begun new; repairs of hours beside lives of months are left out."""
    nodes = data.lanl(place)
    up = best_fit(data.hours(nodes, up=True)).law
    assert isinstance(up, Weibull)
    down = best_fit(data.hours(nodes, up=False)).law
    changes = [f"pools.nodes.up={real_traces.written(up, 'h')}",
               f"pools.nodes.down={real_traces.written(down, 'h')}"]  # fmt: skip
    small = ["stop.time=60d", "bags.days.tasks=50", "bags.days.length=90d"]
    found = Runs(SEEDS, small=small).of("lanl.toml", {"": changes})[""]
    failures = [figures["failures"] / 100 for figures in found]
    error = stdev(failures) / math.sqrt(SEEDS)
    assert abs(fmean(failures) - renewal.failures(up, 60 * 24)) < SURE * error < 0.4


def test_tasks_of_blast_on_preemptible_machines(place: Path) -> None:
    """Each task's work is done once and counts; as many machines end as their lives say."""
    lives = Changed(lifetime_law(data.spot(place)), 1 / 3600)  # hours
    work = 2000 * fmean(data.blast(place)) / 3600
    for figures in Runs(4).of("spot.toml", {"": ["bags.blast.tasks=2000"]}, place)[""]:
        assert figures["tasks_done"] == 2000
        assert figures["work_useful_h"] == pytest.approx(work, rel=0.02)
        ended = 50 * renewal.failures(lives, round(figures["makespan_s"] / 3600))
        assert figures["failures"] == pytest.approx(ended, abs=4 * math.sqrt(ended))


def test_recorded_tasks_of_blast_run_in_their_order(place: Path) -> None:
    """100 tasks on 72 cores: 28 of them begin where one has ended."""
    times = data.blast(place)
    ends = sorted(times[:72])
    for time in times[72:]:
        ends.append(ends.pop(0) + time)
        ends.sort()
    found = Runs(1).of("blast.toml", {"": []}, place)[""]
    assert found[0]["makespan_s"] == pytest.approx(max(ends), abs=1e-4)
