"""Streams: the same numbers for the same seed and names, whatever else happens."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.simulation.draws import LONGEST_US, Streams
from tailrace.simulation.laws import Constant, Exponential, Lognormal, Uniform

names = st.lists(st.text(max_size=8) | st.integers(-(2**40), 2**40), max_size=4).map(tuple)


def taken(draw: object, count: int) -> list[float]:
    return [draw() for _ in range(count)]  # type: ignore[operator]


def test_the_numbers_are_these_on_every_machine() -> None:
    draw = Streams(7).stream("machine", 12, "failures").uniforms()
    assert taken(draw, 3) == [0.7837565388595388, 0.0974104444247984, 0.3652113703548784]


def test_another_hash_seed_changes_nothing() -> None:
    code = (
        "from tailrace.simulation.draws import Streams\n"
        "draw = Streams(3).stream('pool', 'spot', 4).uniforms()\n"
        "print([draw() for _ in range(40)])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert told[0] == f"{taken(Streams(3).stream('pool', 'spot', 4).uniforms(), 40)}\n"


@given(st.integers(0, 2**70), names, names)
def test_streams_do_not_depend_on_who_draws_first(seed: int, one: tuple, other: tuple) -> None:  # type: ignore[type-arg]
    alone = taken(Streams(seed).stream(*one).uniforms(), 20)
    streams = Streams(seed)
    busy = streams.stream(*other).uniforms()
    taken(busy, 5)
    mixed = streams.stream(*one).uniforms()
    both = [(mixed(), busy()) for _ in range(20)]
    assert [first for first, _ in both] == alone


@given(st.integers(0, 100), names, names)
def test_other_names_or_seeds_give_other_numbers(seed: int, one: tuple, other: tuple) -> None:  # type: ignore[type-arg]
    first = Streams(seed).stream(*one).array(4).tolist()
    assert first != Streams(seed + 1).stream(*one).array(4).tolist()
    same = alike(one, other)
    assert (first == Streams(seed).stream(*other).array(4).tolist()) is same


def alike(one: tuple, other: tuple) -> bool:  # type: ignore[type-arg]
    return one == other and [type(name) for name in one] == [type(name) for name in other]


@pytest.mark.parametrize("pair", [(("1",), (1,)), (("a", "b"), ("ab",)), ((), ("",))])
def test_names_that_look_alike_are_told_apart(pair: tuple[tuple[str], tuple[str]]) -> None:
    one, other = (Streams(0).stream(*name).array(2).tolist() for name in pair)
    assert one != other


@given(st.integers(0, 5000), st.integers(1, 300))
def test_an_array_is_a_part_of_the_sequence(start: int, count: int) -> None:
    whole = Streams(5).stream("lengths").array(6000)
    part = Streams(5).stream("lengths").array(count, start)
    assert part.tolist() == whole[start : start + count].tolist()


def test_drawing_one_by_one_walks_along_the_array() -> None:
    draw = Streams(5).stream("x").uniforms()
    assert taken(draw, 5000) == Streams(5).stream("x").array(5000).tolist()


def test_a_law_takes_one_uniform_for_a_value() -> None:
    law = Exponential(3.0)
    drawn = taken(Streams(5).stream("x").of(law), 3000)
    assert drawn == pytest.approx(law.quantile(Streams(5).stream("x").array(3000)).tolist())


def test_uniforms_are_inside_the_open_interval_and_even() -> None:
    u = Streams(1).stream("u").array(200_000)
    assert u.min() > 0 and u.max() < 1
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 160  # chi-square, 99 degrees: beyond is 1 in 10^4
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.01


def test_streams_beside_each_other_are_independent() -> None:
    many = np.array([Streams(1).stream("machine", i).array(50) for i in range(400)])
    assert abs(np.corrcoef(many[1:].ravel(), many[:-1].ravel())[0, 1]) < 0.03
    assert abs(many[:, 0].mean() - 0.5) < 0.06


def test_a_stream_is_bound_to_one_purpose() -> None:
    stream = Streams(1).stream("machine", 3)
    stream.durations(Exponential(1.0))
    with pytest.raises(ValueError, match="name one for each purpose"):
        stream.of(Constant(1.0))


def test_durations_are_whole_microseconds_and_never_negative() -> None:
    assert Streams(1).stream("c").durations(Constant(1.5))() == 1_500_000
    signed = Streams(1).stream("s").durations(Uniform(-1.0, 1.0))
    drawn = taken(signed, 500)
    assert min(drawn) == 0 and all(type(value) is int for value in drawn)


def test_a_duration_that_never_ends_can_still_be_added_to_a_time() -> None:
    drawn = taken(Streams(1).stream("far").durations(Lognormal(900.0, 1.0)), 100)
    assert set(drawn) == {LONGEST_US}


def test_families_of_streams_do_not_meet() -> None:
    firsts = [Streams(1).below("pool", i).stream("a").array(1)[0] for i in range(50)]
    assert all(one != other for one, other in pairwise(sorted(firsts)))
