"""A bag that has grown knows the tasks of the one before, by their values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import bag_from_commands, bag_from_parallel, load_bag_file
from tailrace.bag.changed import Changes, words
from tailrace.bag.identity import basis, programs
from tailrace.bag.kinship import moved
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import Axis
from tailrace.bag.values import Listed, LogSpaced, Range


def where(old: Bag, new: Bag) -> list[int]:
    return moved(old, new, np.arange(old.count)).tolist()


def slowly(old: Bag, new: Bag) -> list[int]:
    """By looking at every task: the k-th of equal values on each axis is the k-th there."""
    there = {key: number for number, key in enumerate(keys(new))}
    return [there.get(key, -1) for key in keys(old)]


def keys(bag: Bag) -> list[tuple[tuple[str, str, int], ...]]:
    found = []
    for index in range(bag.count):
        parts = []
        for place in bag.sweep.places:
            column = place.column
            digit, at = index // place.stride % place.count, column.reader()  # type: ignore[union-attr]
            shown = [repr(at(i)) for i in range(digit + 1)]
            parts.append((column.name, shown[-1], shown[:-1].count(shown[-1])))  # type: ignore[union-attr]
        found.append(tuple(sorted(parts)))
    return found


COLUMNS = st.one_of(
    st.lists(st.integers(0, 4), min_size=1, max_size=5).map(lambda v: Listed("x", tuple(v))),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(lambda v: Listed("x", tuple(v))),
    st.builds(Range, st.just("x"), st.integers(-3, 3).map(str), st.sampled_from(["1", "2", "-1"]),
              st.integers(1, 6)),
    st.builds(Range, st.just("x"), st.sampled_from(["0", "1/2"]), st.sampled_from(["1/2", "1/4"]),
              st.integers(1, 6), st.just(False)),
    st.builds(LogSpaced, st.just("x"), st.just(1.0), st.just(100.0), st.integers(2, 4)),
)  # fmt: skip


def named(column: Listed | Range | LogSpaced, name: str) -> Listed | Range | LogSpaced:
    import msgspec

    return msgspec.structs.replace(column, name=name)


def of(*axes: Axis) -> Bag:
    return Bag(BagSpec("bag", "/", command=("echo",), axes=axes), lambda k: b"")


@given(old=st.tuples(COLUMNS, COLUMNS), new=st.tuples(COLUMNS, COLUMNS), turned=st.booleans())
def test_old_numbers_become_new_ones(old, new, turned: bool) -> None:
    before = of((named(old[0], "a"),), (named(old[1], "b"),))
    axes = ((named(new[0], "a"),), (named(new[1], "b"),))
    after = of(*(axes[::-1] if turned else axes))
    assert basis(before.spec) == basis(after.spec)
    assert where(before, after) == slowly(before, after)


def test_a_large_sweep_is_moved_at_once() -> None:
    old = of((Range("a", "1", "1", 1000),), (Range("b", "0", "1", 5000),))
    new = of((Range("a", "1", "1", 2000),), (Range("b", "0", "1", 6000),))
    found = moved(old, new, np.array([0, 5000, old.count - 1]))
    assert found.tolist() == [0, 6000, 999 * 6000 + 4999]


def test_listed_commands_are_known_by_their_words(tmp_path: Path) -> None:
    """Also those that are listed twice, and those that stand elsewhere now."""
    old = bag_from_commands(["a", "b", "a", "c"], tmp_path, source="-")
    new = bag_from_commands(["c", "a", "x", "a", "a"], tmp_path, source="-")
    assert where(old, new) == [1, -1, 3, 0]


def test_rows_of_a_table_are_known_by_their_cells(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text('command = "echo {a} {b}"\ncsv = "t.csv"\n')
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n3,z\n")
    old = load_bag_file(tmp_path / "bag.toml")
    (tmp_path / "t.csv").write_text("b,a\nz,3\nq,9\nx,1\n")
    new = load_bag_file(tmp_path / "bag.toml")
    assert basis(old.spec) == basis(new.spec) and where(old, new) == [2, -1, 0]


def test_a_task_that_uses_its_number_is_known_by_it(tmp_path: Path) -> None:
    old = bag_from_parallel(["echo", "{}", "{#}", ":::", "a", "b"], tmp_path)
    new = bag_from_parallel(["echo", "{}", "{#}", ":::", "a", "x", "b"], tmp_path)
    assert where(old, new) == [0, -1]


@pytest.mark.parametrize(
    "other", [["echo", "-n", "{}"], ["echo {}"]], ids=["another word", "in a shell"]
)
def test_another_command_is_another_basis(tmp_path: Path, other: list[str]) -> None:
    one = bag_from_parallel(["echo", "{}", ":::", "a"], tmp_path)
    assert basis(one.spec) != basis(bag_from_parallel([*other, ":::", "a"], tmp_path).spec)
    more = bag_from_parallel(["echo", "{}", ":::", "a"], tmp_path, name="other", retries=3)
    assert basis(one.spec) == basis(more.spec)


def test_programs_are_files_that_the_command_runs(tmp_path: Path) -> None:
    for name in ("sim", "model.py", "data.csv"):
        (tmp_path / name).write_text("1")
    lines = ["./sim {} > data.csv", "python3 model.py {} data.csv", "sort data.csv {}"]
    found = [list(programs(bag_from_parallel([x, ":::", "a"], tmp_path))) for x in lines]
    assert found == [["./sim"], ["model.py"], []]
    listed = bag_from_commands(["python3 model.py 1", "./sim 2"], tmp_path, source="-")
    assert list(programs(listed)) == ["model.py", "./sim"]


def test_words_that_a_shell_line_reads_from() -> None:
    line = "sort --key=2 in.txt <more > out.txt 2>>log; wc 'x.csv' --file=y"
    assert set(words(line)) >= {"in.txt", "more", "x.csv", "y"}
    assert not {"out.txt", "log"} & set(words(line))


def test_an_input_that_changed_later_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    bag = bag_from_parallel(["wc", "{}", ":::", "a.txt", "b"], tmp_path)
    changes = Changes(bag, {})
    written = (tmp_path / "a.txt").stat().st_ctime_ns // 1000
    assert changes.possible
    assert [changes.since(0, written), changes.since(0, written - 1)] == [False, True]
    assert not changes.since(1, 0)
