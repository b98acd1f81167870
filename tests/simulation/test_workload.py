"""Lengths of tasks and their run times on machines of several types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import Constant, Gamma, Levy, Lognormal, Mixture, Normal, Uniform
from tailrace.simulation.workload import REFERENCE, MachineType, Workload, draw_lengths

TYPES = {
    "reference": REFERENCE,
    "fast": MachineType(slope=0.25, offset=Constant(2.0)),
    "odd": MachineType(2.0, Constant(1.0), noise=Lognormal.with_mean_sd(1.0, 0.1)),
    "mixed": MachineType(spread=Uniform(0.8, 1.2)),
}


def workload(seed: int = 1, count: int = 500) -> Workload:
    streams = Streams(seed)
    return Workload(draw_lengths(Gamma(4.0, 15.0), count, streams), TYPES, streams)


def test_the_reference_machine_takes_the_length() -> None:
    bag = workload()
    times = [bag.run_us(task, "reference", 7) for task in range(500)]
    assert times == pytest.approx((bag.lengths * 1e6).tolist(), abs=0.51)


def test_another_type_follows_its_line() -> None:
    bag = workload()
    times = np.array([bag.run_us(task, "fast", 0) for task in range(500)]) / 1e6
    slope, offset = np.polyfit(bag.lengths, times, 1)
    assert (slope, offset) == pytest.approx((0.25, 2.0), abs=1e-6)


def test_noise_scatters_around_the_line_and_belongs_to_the_task() -> None:
    bag = workload(count=20_000)
    ratio = bag.seconds("odd") / (2.0 * bag.lengths + 1.0)
    assert ratio.mean() == pytest.approx(1.0, abs=0.005)
    assert ratio.std() == pytest.approx(0.1, abs=0.005)
    assert abs(np.corrcoef(ratio, bag.lengths)[0, 1]) < 0.03
    assert bag.run_us(3, "odd", 0) == bag.run_us(3, "odd", 99)


def test_an_offset_that_scatters_belongs_to_the_task() -> None:
    streams = Streams(1)
    types = {"far": MachineType(offset=Uniform(-0.5, 1.5))}
    bag = Workload(draw_lengths(Constant(3.0), 5000, streams), types, streams)
    times = bag.seconds("far")
    assert (times.min() >= 2.5, times.max() <= 4.5, len(set(times.tolist()))) == (True, True, 5000)
    assert times.mean() == pytest.approx(3.5, abs=0.03)


def test_machines_of_a_type_differ_by_a_factor_of_their_own() -> None:
    bag = workload()
    factors = np.array([bag.factor("mixed", machine) for machine in range(3000)])
    assert factors.min() >= 0.8 and factors.max() <= 1.2
    assert factors.mean() == pytest.approx(1.0, abs=0.01)
    alone = workload().run_us(5, "mixed", 2999)
    assert alone == pytest.approx(bag.lengths[5] * factors[2999] * 1e6, abs=1)


asked = st.tuples(st.integers(0, 499), st.sampled_from(sorted(TYPES)), st.integers(0, 3000))


@settings(max_examples=30)
@given(st.lists(asked, min_size=1, max_size=20), st.randoms())
def test_run_times_do_not_depend_on_the_order_of_asking(
    questions: list[tuple[int, str, int]], chance: object
) -> None:
    one, other = workload(), workload()
    answers = {question: one.run_us(*question) for question in questions}
    shuffled = list(answers)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert {question: other.run_us(*question) for question in shuffled} == answers


def test_a_longer_bag_begins_with_the_same_tasks() -> None:
    short, long = (draw_lengths(Levy(12.0, 45.0), n, Streams(2)) for n in (100, 1000))
    assert long[:100].tolist() == short.tolist()
    assert draw_lengths(Levy(12.0, 45.0), 100, Streams(3)).tolist() != short.tolist()


def test_a_million_lengths_are_one_array() -> None:
    law = Mixture((3.0, 1.0), (Normal(900.0, 134.0), Gamma(2.0, 600.0)))
    lengths = draw_lengths(law, 1_000_000, Streams(1))
    assert lengths.shape == (1_000_000,) and lengths.min() > 0
    assert lengths.mean() == pytest.approx(law.mean(), rel=0.005)


def test_no_task_takes_less_than_nothing() -> None:
    streams = Streams(1)
    types = {"odd": MachineType(offset=Constant(-10.0))}
    bag = Workload(draw_lengths(Constant(3.0), 4, streams), types, streams)
    assert bag.run_us(0, "odd", 0) == 1


def test_a_slope_is_above_nothing() -> None:
    with pytest.raises(ValueError, match="slope is -1"):
        MachineType(slope=-1.0)
