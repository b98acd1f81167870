from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.sweep import Sweep
from tailrace.bag.values import Listed, LogSpaced, Range, show

from .conftest import Load


def no_chunk(number: int) -> bytes:
    raise AssertionError("a sweep without rows reads no chunk")


lengths = st.lists(st.integers(1, 6), min_size=0, max_size=5)


@given(lengths)
def test_the_tasks_of_a_sweep_are_all_combinations_in_the_order_of_nested_loops(
    counts: list[int],
) -> None:
    axes = tuple((Listed(f"p{i}", tuple(range(n))),) for i, n in enumerate(counts))
    sweep = Sweep(axes, no_chunk)
    tasks = [tuple(sweep.params(i).values()) for i in range(sweep.count)]
    assert tasks == list(itertools.product(*(range(n) for n in counts)))


def test_zipped_parameters_go_side_by_side(load: Load) -> None:
    bag = load(
        'command = "x {a} {b} {c}"\nzip = [["a", "c"]]\n'
        '[parameters]\na = [1, 2]\nb = ["x", "y"]\nc = [10, 20]\n'
    )
    found = [tuple(bag.params(i)[n] for n in "abc") for i in range(bag.count)]
    assert found == [(1, "x", 10), (1, "y", 10), (2, "x", 20), (2, "y", 20)]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{from = 1, to = 5}", "1 2 3 4 5"),
        ("{from = 5, to = 1, step = -2}", "5 3 1"),
        ("{from = 0, to = 0.5, step = 0.1}", "0.0 0.1 0.2 0.3 0.4 0.5"),
        ("{from = 0.1, to = 0.75, step = 0.2}", "0.1 0.3 0.5 0.7"),
        ("{from = 0, to = 1, count = 5}", "0.0 0.25 0.5 0.75 1.0"),
        ("{from = 0, to = 10, count = 6}", "0 2 4 6 8 10"),
        ("{from = 7, count = 3}", "7 8 9"),
        ("{from = 0, count = 3, step = 0.1}", "0.0 0.1 0.2"),
        (
            '{from = 0.001, to = 1000, count = 7, scale = "log"}',
            "0.001 0.01 0.1 1.0 10.0 100.0 1000.0",
        ),
        ('["a", 2, 0.5, true, 1979-05-27]', "a 2 0.5 true 1979-05-27"),
        ('"only"', "only"),
        ("[1e-5, inf]", "1e-05 inf"),
    ],
)
def test_values_are_what_they_look_like(load: Load, written: str, shown: str) -> None:
    bag = load(f'command = ["x", "{{p}}"]\n[parameters]\np = {written}\n')
    argvs = [bag.task(i).argv for i in range(bag.count)]
    assert " ".join(argv[1] for argv in argvs if argv) == shown


@given(
    st.decimals(-1000, 1000, places=3),
    st.decimals("0.001", 10, places=3),
    st.integers(1, 50),
)
def test_the_steps_of_a_range_are_exact(start: object, step: object, count: int) -> None:
    first, pace = Fraction(str(start)), Fraction(str(step))
    at = Range("p", str(first), str(pace), count, whole=False).reader()
    assert [at(i) for i in range(count)] == [float(first + i * pace) for i in range(count)]


ranges = st.builds(
    lambda start, step, over, count, whole: Range(
        "p", str(start) if whole else str(Fraction(start, over)), str(step), count, whole
    ),
    st.integers(-1000, 1000),
    st.integers(-9, 9).filter(bool),
    st.integers(1, 1000),
    st.integers(1, 10**9),
    st.booleans(),
)
logs = st.builds(
    LogSpaced, st.just("p"), st.floats(1e-6, 0.9), st.floats(1, 1e6), st.integers(2, 500)
)


@given(ranges | logs, st.data())
def test_a_value_leads_back_to_its_position(axis: Range | LogSpaced, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, axis.count - 1))
    assert position in axis.positions(show(axis.reader()(position)))


def test_repeat_turns_fastest_and_counts_from_one(load: Load) -> None:
    bag = load('command = "x {a} {repeat}"\nrepeat = 3\n[parameters]\na = [7, 8]\n')
    assert [bag.params(i) for i in (0, 2, 3)] == [
        {"a": 7, "repeat": 1},
        {"a": 7, "repeat": 3},
        {"a": 8, "repeat": 1},
    ]


SWEEP = (
    'command = "x {{a}} {{b}} {{c}}"\noutputs = ["out/{{a}}/{{b}}/{{c}}.csv"]\n'
    "[parameters]\na = {{from = 1, to = {0}}}\nb = {{from = 1, to = {0}}}\n"
    "c = {{from = 1, to = {0}}}\n"
)


def test_a_sweep_of_a_billion_tasks_is_there_at_once(load: Load) -> None:
    """It takes the steps that it takes for eight."""

    def handle(most: int) -> None:
        bag = load(SWEEP.format(most))
        assert bag.count == most**3
        assert bag.task(most**3 - 1).shell == f"x {most} {most} {most}"
        assert len(bag.encode()[0]) < 2000

    handle(2)  # what is done once only is done
    few, many = steps(lambda: handle(2)), steps(lambda: handle(1000))
    assert many < 2 * few


def steps(what: Callable[[], object]) -> int:
    """Lines of Python that it takes."""
    count = 0

    def see(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return see

    before = sys.gettrace()
    sys.settrace(see)
    try:
        what()
    finally:
        sys.settrace(before)
    return count


def test_csv_rows_come_before_parameters_and_cells_stay_as_written(load: Load) -> None:
    bag = load(
        'command = "x {id} {rate} {seed}"\ncsv = "c.csv"\n[parameters]\nseed = [1, 2]\n',
        {"c.csv": "id,rate,note\n007,1e-5,a\n008,0.10,b\n"},
    )
    assert [bag.task(i).shell for i in range(4)] == [
        "x 007 1e-5 1",
        "x 007 1e-5 2",
        "x 008 0.10 1",
        "x 008 0.10 2",
    ]
    assert bag.params(3) == {"id": "008", "rate": 0.1, "note": "b", "seed": 2}


def test_a_csv_may_have_a_byte_order_mark_quotes_and_windows_lines(load: Load) -> None:
    text = '\ufeffcase name,b\r\n"a, ""b""",1\r\n\r\n"two\nlines",2\r\n'
    bag = load('command = ["x", "{case name}", "{b:03d}"]\ncsv = "c.csv"\n', {"c.csv": text})
    assert [bag.task(i).argv for i in range(bag.count)] == [
        ("x", 'a, "b"', "001"),
        ("x", "two\nlines", "002"),
    ]


def test_rows_in_many_chunks_are_found_in_any_order(load: Load) -> None:
    rows = "\n".join(str(i * 3) for i in range(25_000))
    bag = load('command = "x {n}"\ncsv = "c.csv"\n', {"c.csv": f"n\n{rows}\n"})
    picks = [0, 24_999, 1000, 999, 12_345, 17, 20_000, 1]
    assert [bag.params(i)["n"] for i in picks] == [i * 3 for i in picks]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("a", [2, 3, 0, 1, 4, 5]),
        ("-a", [0, 1, 4, 5, 2, 3]),
        ("b", [1, 3, 5, 0, 2, 4]),
        ("-b", [0, 2, 4, 1, 3, 5]),
    ],
)
def test_tasks_can_be_ordered_by_a_parameter(load: Load, order: str, expected: list[int]) -> None:
    bag = load(
        f'command = "x {{a}} {{b}}"\norder = "{order}"\n'
        "[parameters]\na = [10, 9, 10]\nb = {from = 2, to = 1, step = -1}\n"
    )
    found = bag.order()
    assert found is not None and list(found) == expected


def test_a_text_column_of_numbers_is_ordered_as_numbers(load: Load) -> None:
    bag = load('command = "x {n}"\ncsv = "c.csv"\norder = "n"\n', {"c.csv": "n\n10\n9\n007\n"})
    assert list(bag.order() or []) == [2, 1, 0]


def test_tabs_separate_the_columns_of_a_tsv(load: Load) -> None:
    bag = load('command = "x {a} {b}"\ncsv = "c.tsv"\n', {"c.tsv": "a\tb\n1,5\ttwo words\n"})
    assert bag.task(0).shell == "x 1,5 'two words'"
