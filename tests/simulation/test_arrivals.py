"""Processes of arrivals: their rates, their days, and how a scenario writes them."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.simulation.scenarios import run, write_log

from tailrace.bag.tables import Origin, read_toml
from tailrace.errors import BadInput
from tailrace.simulation.arrivals import (
    ALL,
    BATCH,
    INTERACTIVE,
    Arrivals,
    AtOnce,
    Batches,
    Daily,
    Kind,
    Listed,
    Renewal,
    daily,
    lublin,
    poisson,
    read_arrivals,
    uniform,
    with_night,
)
from tailrace.simulation.arrivals.reading import EXAMPLES
from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import Constant, Gamma, Place, Uniform, Weibull

HOUR = 3_600_000_000
PROCESSES = {
    "at once": AtOnce(5),
    "poisson": poisson(180.0),
    "uniform": uniform(60.0, 300.0),
    "renewal": Renewal(Weibull(0.5, 100.0)),
    "daily": daily(1000.0, with_night(0.2), 8.0),
    "silent nights": daily(100.0, with_night(0.0), 23.0),
    "lublin": lublin(BATCH),
    "batches": Batches(Uniform(1, 5), Weibull(0.5, 100.0)),
}


def some(process: Arrivals, count: int, seed: int = 3) -> list[int]:
    return list(islice(process.times(Streams(seed).stream("arrivals")), count))


def hours(process: Arrivals, count: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(some(process, count)) / HOUR % 24


@pytest.mark.parametrize("name", PROCESSES)
def test_times_are_whole_and_never_go_back(name: str) -> None:
    times = some(PROCESSES[name], 3000)
    assert len(times) == 3000 and times[0] >= 0
    assert all(type(time) is int for time in times)
    assert all(one <= other for one, other in pairwise(times))
    assert times == some(PROCESSES[name], 3000)
    assert name == "at once" or times != some(PROCESSES[name], 3000, seed=4)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 50) | st.just(0.0), min_size=1, max_size=48), st.floats(0, 23.9))
def test_any_day_goes_forward(weights: list[float], start: float) -> None:
    if sum(weights) < 1e-6:
        weights = [*weights, 1.0]
    times = some(daily(300.0, tuple(weights), start), 300)
    assert times[0] >= 0
    assert all(one <= other for one, other in pairwise(times))


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.diff(some(poisson(180.0), 20_000)) / 1e6
    assert stats.kstest(gaps, stats.expon(scale=180).cdf).pvalue > 1e-3


def test_at_once_means_at_once() -> None:
    assert some(AtOnce(7), 3) == [7, 7, 7]


def test_a_list_comes_in_order_and_ends() -> None:
    assert some(Listed((1, 3, 3, 5)), 10) == [1, 3, 3, 5]


def test_a_list_is_not_sorted_apart_from_its_tasks() -> None:
    with pytest.raises(ValueError, match="time 2 is earlier than time 1"):
        Listed((5, 1, 3))


def test_batches_come_together_then_none_for_a_while() -> None:
    times = some(Batches(Uniform(3, 9), Uniform(60.0, 120.0)), 5_000)
    at, sizes = np.unique(times, return_counts=True)
    gaps = np.diff(at, prepend=0) / 1e6
    assert stats.kstest(gaps, stats.uniform(60, 60).cdf).pvalue > 1e-3
    assert set(sizes[:-1]) == set(range(3, 10))
    apart = abs(np.corrcoef(gaps[:-1], sizes[:-1])[0, 1])
    assert apart < 4 / math.sqrt(len(sizes))  # sizes and gaps are drawn apart


def test_a_batch_holds_one_at_least() -> None:
    assert len(set(some(Batches(Constant(0.0), Constant(5.0)), 10))) == 10


def test_constant_gaps_are_a_clock() -> None:
    assert some(Renewal(Constant(0.5)), 3) == [500_000, 1_000_000, 1_500_000]


def test_an_average_day_has_as_many_as_were_asked_for() -> None:
    times = some(daily(500.0, with_night(0.2)), 20_000)
    assert times[-1] / (24 * HOUR) == pytest.approx(40, rel=0.03)


def test_a_fifth_comes_at_night() -> None:
    """Chtepen 4.3.4: nearly 80 % by day, 20 % between 21h and 7h."""
    at = hours(daily(500.0, with_night(0.2)), 20_000)
    assert ((at >= 21) | (at < 7)).mean() == pytest.approx(0.2, abs=0.012)


def test_within_the_night_arrivals_are_even() -> None:
    at = hours(daily(500.0, with_night(0.2)), 40_000)
    night = (at[(at >= 21) | (at < 7)] - 21) % 24
    assert stats.kstest(night, stats.uniform(0, 10).cdf).pvalue > 1e-3


def test_nothing_comes_in_hours_of_weight_zero() -> None:
    at = hours(daily(100.0, with_night(0.0)), 5000)
    assert not ((at > 21) | (at < 7)).any()


def test_a_run_that_begins_in_the_evening_first_meets_the_night() -> None:
    at_night = np.array(some(daily(500.0, with_night(0.05), 21.0), 2000)) < 10 * HOUR
    assert at_night.sum() == pytest.approx(25, abs=20)


@settings(max_examples=40)
@given(st.lists(st.floats(0.1, 9), min_size=24, max_size=24), st.integers(0, 23))
def test_a_day_with_even_gaps_has_its_weights(weights: list[float], start: int) -> None:
    count = 2000
    times = np.array(some(Daily(Constant(86400 / count), tuple(weights), start), count))
    at = (times / HOUR + start - 1e-9) % 24
    seen = np.histogram(at, bins=24, range=(0, 24))[0] / count
    assert seen == pytest.approx(np.array(weights) / sum(weights), abs=2 / count)


# Lublin and Feitelson


def paid_in_points(kind: Kind, gaps: list[float]) -> list[float]:
    """The published procedure, step by step: each half-hour costs its weight in points."""
    weights = np.array(kind.weights()) / np.mean(kind.weights())
    slot, points, times = 0, 0.0, []
    for gap in gaps:
        points += gap / 1800
        while points > weights[slot % 48]:
            points -= weights[slot % 48]
            slot += 1
        times.append((slot + points / weights[slot % 48]) * 1800)
    return times


@pytest.mark.parametrize("kind", [BATCH, INTERACTIVE, ALL])
def test_lublin_arrivals_follow_the_published_procedure(kind: Kind) -> None:
    gaps = kind.gaps().draw(Streams(3).stream("arrivals").array(3000))
    theirs = paid_in_points(kind, gaps.tolist())
    assert np.array(some(lublin(kind), 3000)) / 1e6 == pytest.approx(theirs, abs=1e-3)
    logs = stats.gamma(kind.aarr * kind.arar, scale=kind.barr)
    known = stats.kstest(np.log(gaps), lambda x: logs.cdf(x) / logs.cdf(13.0))
    assert known.pvalue > 1e-3 and gaps.max() < math.exp(13)


def test_lublin_days_are_busiest_in_the_early_afternoon_and_quiet_before_dawn() -> None:
    weights = np.array(ALL.weights())
    assert len(weights) == 48
    assert 12 <= weights.argmax() / 2 <= 16
    assert 3 <= weights.argmin() / 2 <= 6


# As a scenario writes them


def read(written: str, folder: Path = Path()) -> Arrivals:
    text = f"\narrivals = {written}"
    place = Place(Origin("s.toml", text), ("arrivals",), folder)
    return read_arrivals(read_toml(text, "s.toml")["arrivals"], place)


@pytest.mark.parametrize(
    ("written", "process"),
    [
        ('"at once"', AtOnce()),
        ('{ process = "at once", at = "1s" }', AtOnce(1_000_000)),
        ('{ process = "poisson", every = "3m" }', poisson(180.0)),
        ('{ process = "poisson", rate = "20/h" }', poisson(180.0)),
        ('{ process = "poisson", rate = "120/2h" }', poisson(60.0)),
        ('{ process = "uniform", from = "1m", to = "5m" }', uniform(60.0, 300.0)),
        (
            '{ process = "gaps", gap = { law = "gamma", shape = 2, scale = 3 } }',
            Renewal(Gamma(2, 3)),
        ),
        ('{ process = "gaps", gap = "3s" }', Renewal(Constant(3.0))),
        (
            '{ process = "batches", size = { law = "uniform", from = 1, to = 9 }, gap = "1h" }',
            Batches(Uniform(1, 9), Constant(3600.0)),
        ),
        ('{ process = "daily", per_day = 1000, night = 0.2 }', daily(1000, with_night(0.2))),
        (
            '{ process = "daily", per_day = 10, hours = [1,2,3,4,5,6,7,8,9,10,11,12,'
            "1,2,3,4,5,6,7,8,9,10,11,12], start_hour = 8 }",
            daily(10.0, (*range(1, 13), *range(1, 13)), 8.0),
        ),
        ('{ process = "lublin", jobs = "interactive" }', lublin(INTERACTIVE)),
        ('{ process = "listed", times = ["0s", "5m"] }', Listed((0, 300_000_000))),
    ],
)
def test_arrivals_are_read_as_they_are_written(written: str, process: Arrivals) -> None:
    assert read(written) == process


def test_arrivals_may_come_from_a_log(tmp_path: Path) -> None:
    write_log(tmp_path / "jobs.swf", [(0, 1, 1), (2.5, 2, 1)])
    assert read('{ process = "listed", file = "jobs.swf" }', tmp_path) == Listed((0, 2_500_000))


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ((-1, 2, 1), r"jobs.swf: job 2 has no submit time\n  give it one"),
        ((2, 2, 1), r"jobs.swf: job 2 comes after one that was submitted later\n  sort the lines"),
    ],
)
def test_a_log_of_arrivals_must_be_in_order(
    tmp_path: Path, second: tuple[float, float, int], told: str
) -> None:
    write_log(tmp_path / "jobs.swf", [(5, 1, 1), second])
    with pytest.raises(BadInput, match=told):
        read('{ process = "listed", file = "jobs.swf" }', tmp_path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_in_remedies_can_be_read(name: str) -> None:
    assert isinstance(read(EXAMPLES[name].partition(", or")[0]), Arrivals)


@pytest.mark.parametrize(
    ("written", "complaint", "remedy"),
    [
        ('"at one"', "there is no process 'at one'", "did you mean at once?"),
        ('{ process = "poison" }', "there is no process 'poison'", "did you mean poisson?"),
        ("{ every = 3 }", "arrivals names no process", '"daily"'),
        ('{ process = "poisson" }', "either every or rate", "rate ="),
        ('{ process = "poisson", every = 0 }', "arrivals.every: 0 is not above 0", "as in"),
        ('{ process = "poisson", rate = -1 }', "arrivals.rate: -1 is not above 0", "as in"),
        ('{ process = "poisson", every = 1, evry = 2 }', "unknown key arrivals.evry", "every?"),
        ('{ process = "uniform", from = 1 }', "it lacks to", "as in"),
        ('{ process = "uniform", from = 5, to = 1 }', "from 5 to 1, which is less", "as in"),
        ('{ process = "batches", gap = "1h" }', "it lacks size", "size = 1000"),
        ('{ process = "gaps", gap = { law = "gam" } }', "no law 'gam'", "gamma?"),
        ('{ process = "daily", per_day = 9, hours = [1] }', "has 1 weights", "as in"),
        ('{ process = "daily", per_day = 9, night = 2 }', "a share of 2", "as in"),
        ('{ process = "daily", per_day = 9, night = 0, start_hour = 24 }', "24 is not an", "as in"),
        ('{ process = "lublin", jobs = "bach" }', "arrivals.jobs is 'bach'", '"batch" or "inter'),
        ('{ process = "listed" }', "either times or a file", "as in"),
        ('{ process = "listed", file = "no.swf" }', "there is no such file", ""),
        (
            '{ process = "listed", times = ["0s", "1h", "5m"] }',
            "time 3 of 3 is 5m, earlier than 1h before it",
            "list the tasks as they come, each length with its time",
        ),
    ],
)
def test_bad_arrivals_are_told_with_their_place(written: str, complaint: str, remedy: str) -> None:
    with pytest.raises(BadInput) as told:
        read(written)
    assert str(told.value).startswith("s.toml:2: ")
    assert complaint in str(told.value)
    assert remedy in told.value.remedy


def test_every_process_says_when_its_arrivals_come() -> None:
    """The base leaves it open; a process that forgot it would only fail when it is asked."""
    kinds = [k for k in Arrivals.__subclasses__() if k.__module__.startswith("tailrace.")]
    assert len(kinds) >= 4
    for kind in kinds:
        assert kind.times is not Arrivals.times, f"{kind.__name__} has no times"


def test_a_task_of_a_shuffled_bag_is_not_sent_before_it_arrives() -> None:
    """Of those that are there the order says which is next."""
    text = """
[pools.p]
machines = 1
[bags.b]
tasks = 9
length = 25
order = "shuffled"
arrivals = { process = "gaps", gap = 10 }
"""
    record = run(text).records[0]
    waits = [sent - arrived for sent, arrived in zip(record.sent, record.arrived, strict=True)]
    assert list(record.arrived) == [10_000_000 * (n + 1) for n in range(9)]
    assert min(waits) == 0 and sorted(record.sent) != list(record.sent)
