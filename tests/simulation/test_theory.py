"""Queues and renewals against their theory.

Each mean is taken over runs of different seeds, which are independent, so its standard error is
known. What theory says must lie in the interval of Student's t at 99.9 %; the seeds are fixed. The
error must be small, too, or the test would let everything pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, stdev

import pytest
from scipy.special import stdtrit

from tailrace.bag.terms import Retries, Terms
from tailrace.pools.terms import Pool
from tailrace.simulation.arrivals import AtOnce, poisson
from tailrace.simulation.arrivals.process import Arrivals
from tailrace.simulation.laws import Constant, Exponential, Law, Lognormal, Uniform
from tailrace.simulation.scenario import (
    Alternation,
    Detection,
    Machines,
    Scenario,
    Stopping,
    Tasks,
)
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

SEEDS = 16
SURE = float(stdtrit(SEEDS - 1, 1 - 0.001 / 2))  # standard errors to either side: 4.07
DAYS = 20
MINUTE = 60.0
NOT_YET_STEADY = 100  # tasks left out at the beginning, when the queue was empty


def agrees(measure: Callable[[int], float], expected: float, *, within: float) -> None:
    """`within` bounds the standard error, as a share of what is expected."""
    found = [measure(seed) for seed in range(SEEDS)]
    error = stdev(found) / math.sqrt(SEEDS)
    assert error < within * expected
    assert abs(fmean(found) - expected) < SURE * error


def tasks(count: int, length: Law, arrivals: Arrivals | None = None) -> Tasks:
    terms = Terms(count, trial_us=0, retries=Retries(lost=10**6))
    return Tasks(terms, length, arrivals or AtOnce())


def run(machines: Machines, bag: Tasks, seed: int, time_us: int | None = None) -> World:
    world = World(Scenario((machines,), (bag,), stop=Stopping(time_us=time_us)), seed)
    world.run()
    return world


# queues, with services of a minute on average: what takes a second would be sent in bundles


def waiting_min(machines: int, load: float, service: Law, seed: int) -> float:
    """Tasks come so often that each machine is busy for this share of its time."""
    bag = tasks(2_000, service, poisson(service.mean() / load / machines))
    world = run(Machines(Pool("desk", max=0), machines), bag, seed)
    return fmean(world.records[0].waiting_us()[NOT_YET_STEADY:]) / 60e6


def test_an_mm1_queue_waits_as_long_as_theory_says() -> None:
    service = Exponential(MINUTE)
    agrees(lambda seed: waiting_min(1, 0.6, service, seed), 0.6 / 0.4, within=0.04)


def test_an_mmc_queue_waits_as_long_as_erlang_says() -> None:
    """Five desks, offered four: C(5, 4) / (5 - 4)."""
    wait, service = erlang_c(5, 4.0) / (5 - 4.0), Exponential(MINUTE)
    assert wait == pytest.approx(0.5541, abs=1e-4)  # as tables have it
    agrees(lambda seed: waiting_min(5, 0.8, service, seed), wait, within=0.08)


def erlang_c(desks: int, offered: float) -> float:
    terms = [offered**k / math.factorial(k) for k in range(desks)]
    full = offered**desks / math.factorial(desks) * desks / (desks - offered)
    return full / (sum(terms) + full)


@pytest.mark.parametrize(
    "service",
    [Constant(MINUTE), Uniform(0.0, 2 * MINUTE), Lognormal.with_mean_sd(MINUTE, MINUTE)],
    ids=["constant", "uniform", "lognormal"],
)
def test_an_mg1_queue_waits_as_long_as_pollaczek_and_khinchine_say(service: Law) -> None:
    load = 0.5
    second_moment = (service.variance() + service.mean() ** 2) / MINUTE**2
    wait = load * second_moment / (2 * (1 - load))
    agrees(lambda seed: waiting_min(1, load, service, seed), wait, within=0.06)


# renewals


def failing(up: Law, down: Law, count: int = 1) -> Machines:
    life = Alternation(up, down)
    return Machines(Pool("grid", max=0), count, failures=life, detection=Detection.REPORTED)


def figure(name: str, machines: Machines, seed: int) -> float:
    """After so many days; the task keeps the run going, and is far too long to end."""
    return figures(run(machines, tasks(1, Constant(1e9)), seed, DAYS * 86_400_000_000))[name]


@pytest.mark.parametrize(
    ("up", "down"),
    [
        (Uniform(60, 200 * 60), Uniform(60, 200 * 60)),  # chapter 3's row of 50 %
        (Lognormal.with_mean_sd(5 * 3600, 9 * 3600), Exponential(3600)),
    ],
    ids=["uniform", "lognormal"],
)
def test_availability_is_the_share_of_the_mean_time_up(up: Law, down: Law) -> None:
    expected = up.mean() / (up.mean() + down.mean())
    agrees(lambda seed: figure("availability", failing(up, down, 10), seed), expected, within=0.01)


def test_as_many_failures_come_as_the_renewal_function_says() -> None:
    """Exponential times, beginning up: λμt/(λ+μ) + λ²/(λ+μ)² (1 - e^{-(λ+μ)t}) of each machine."""
    rate, repair, time = 1 / 2, 1 / 1, float(DAYS)  # per day
    both = rate + repair
    each = rate * repair * time / both + (rate / both) ** 2 * (1 - math.exp(-both * time))
    machines = failing(Exponential(2 * 86_400), Exponential(86_400), 30)
    agrees(lambda seed: figure("failures", machines, seed), 30 * each, within=0.02)


@pytest.mark.parametrize("length_s", [600.0, 3600.0])
def test_a_task_begun_anew_after_each_failure_takes_as_long_as_theory_says(
    length_s: float,
) -> None:
    """(e^{λt} - 1)(1/λ + d): failures come at the rate λ while it runs, repairs take d on average.
    The time of failure has no memory, so each task on the only machine is a trial of its own."""
    up_s, down_s = 3600.0, 600.0
    expected = math.expm1(length_s / up_s) * (up_s + down_s)
    machines = failing(Exponential(up_s), Exponential(down_s))

    def each_s(seed: int) -> float:
        return figures(run(machines, tasks(200, Constant(length_s)), seed))["makespan_s"] / 200

    agrees(each_s, expected, within=0.03)


def test_a_wrong_expectation_is_found_out() -> None:
    with pytest.raises(AssertionError):
        agrees(lambda seed: waiting_min(1, 0.5, Exponential(MINUTE), seed), 1.25, within=0.06)
