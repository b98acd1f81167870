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
    listed_s = real_traces.list_scheduled(data.blast(place), 72)
    found = Runs(1).of("blast.toml", {"": []}, place)[""]
    assert found[0]["makespan_s"] == pytest.approx(listed_s, abs=1e-4)


def test_list_scheduling_gives_each_task_the_core_that_is_free_first() -> None:
    assert real_traces.list_scheduled([3.0, 1.0, 1.0, 5.0, 1.0], 2) == 7.0


AS_IT_SHOULD = {"shape": 0.48, "up": 0.99, "failures": 432.0, "ends": 200.0, "makespan_s": 90.0}


@pytest.mark.parametrize(
    ("wrong", "refuted"),
    [({}, None), ({"shape": 0.49}, 0), ({"up": 0.98}, 1), ({"failures": 500.0}, 2),
     ({"ends": 240.0}, 3), ({"makespan_s": 90.1}, 4)],
)  # fmt: skip
def test_each_number_of_the_traces_may_refute(wrong: dict[str, float], refuted: int | None) -> None:
    """Nodes up for 990 hours and down for 10; machines that live ten hours, for forty."""
    ours = AS_IT_SHOULD | wrong
    fits = [real_traces.Parameter("availability", "weibull", "shape", 0.48, ours["shape"])]
    figures = {"availability": ours["up"], "failures": ours["failures"]}
    laws = (Exponential(990.0), Exponential(10.0))
    nodes = real_traces.Nodes(real_traces.EXPONENTIAL, *laws, 99.0, [figures] * 2)
    ended = [{"makespan_s": 144_000.0, "failures": ours["ends"]}] * 2
    law, makespan_s = best_fit([8.0, 9.0, 11.0]), ours["makespan_s"]
    search = real_traces.Search("small", 40, law, 100.0, 90.0, makespan_s)
    spot = ({"": Exponential(36_000.0)}, {"": ended})
    held = [claim.holds for claim in real_traces.judged(fits, [nodes], spot, [search])]
    assert held == [number != refuted for number in range(5)]
