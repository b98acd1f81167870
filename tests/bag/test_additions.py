"""What is added to a bag stands behind what it has, without what is there already."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.additions import Addition, add
from tailrace.bag.arrayids import read_array
from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import bag_from_commands, bag_from_parallel, load_bag_file
from tailrace.bag.batch import Batch
from tailrace.bag.identity import basis
from tailrace.bag.spans import both, size, spans_of, without
from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.sweep import Axis
from tailrace.bag.task import CannotBeMade
from tailrace.bag.values import Listed, Range
from tailrace.errors import BadInput

from .test_kinship import COLUMNS, named


def bag_of(*columns: object, **more: object) -> Bag:
    axes: tuple[Axis, ...] = tuple((column,) for column in columns)  # type: ignore[misc]
    return Bag(BagSpec("bag", "/", command="echo {x} {y}", axes=axes, **more), lambda k: b"")  # type: ignore[arg-type]


def values(bag: Bag, first: int = 0) -> list[tuple[str, ...]]:
    return [tuple(map(repr, _sorted(bag, index))) for index in range(first, bag.count)]


def _sorted(bag: Bag, index: int) -> list[object]:
    return [value for _, value in sorted(bag.raw(index).items())]


def seeds(first: int, last: int) -> Range:
    return Range("x", str(first), "1", last - first + 1)


PAIRS = st.tuples(COLUMNS, COLUMNS.map(lambda column: named(column, "y")))


@given(PAIRS, st.lists(PAIRS, min_size=1, max_size=3))
def test_a_bag_that_was_added_to_has_what_was_asked_for_and_old_numbers(
    first: object, more: list[object]
) -> None:
    bag = bag_of(*first)  # type: ignore[misc]
    for pair in more:
        asked = bag_of(*pair)  # type: ignore[misc]
        before = values(bag)
        added = add(bag, Addition(asked.spec.axes))
        there = set(before)
        new = [value for value in values(asked) if value not in there]
        assert values(added.bag)[: bag.count] == before
        assert sorted(values(added.bag, bag.count)) == sorted(new)
        assert (added.new, added.there) == (len(new), asked.count - len(new))
        bag = added.bag


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_spans_are_sets_of_places(one: set[int], other: set[int]) -> None:
    a, b = spans_of(sorted(one)), spans_of(sorted(other))
    assert both(a, b) == spans_of(sorted(one & other)) and size(a) == len(one)
    assert without(a, b) == spans_of(sorted(one - other))


def test_more_values_of_one_parameter_with_all_of_the_others() -> None:
    bag = bag_of(seeds(1, 3), Listed("y", (0.1, 0.2)))
    bag = add(bag, Addition(((Listed("y", (0.3,)),),), some=True)).bag
    added = add(bag, Addition(((seeds(2, 5),),), some=True))
    assert (added.new, added.there) == (6, 6)
    wanted = {(repr(x), repr(y)) for x, y in product(range(1, 6), (0.1, 0.2, 0.3))}
    assert set(values(added.bag)) == wanted and added.bag.count == len(wanted)
    assert add(added.bag, Addition(((seeds(1, 5),),), some=True)).new == 0


def test_ten_million_more_are_as_short_to_say_as_ten() -> None:
    bag = bag_of(seeds(1, 10_000_000), Listed("y", ("a", "b")))
    added = add(bag, Addition(((seeds(9_000_001, 19_000_000),),), some=True))
    assert (added.new, added.there) == (18_000_000, 2_000_000)
    assert added.bag.raw(20_000_000) == {"x": 10_000_001, "y": "a"}
    assert len(added.bag.encode()[0]) < 1000
    assert added.bag.find("x=18999999,y=b") == added.bag.count - 3


def test_commands_that_are_listed_already_are_left_out(tmp_path: Path) -> None:
    lines = [f"echo {i}" for i in range(1500)]
    bag = bag_from_commands(lines, tmp_path, source="jobs.txt")
    more = bag_from_commands([*lines[700:], "echo a", "echo b"], tmp_path, source="more.txt")
    _, chunks = more.encode()
    added = add(bag, Addition(more.spec.axes, list(chunks), "listed"))
    assert (added.new, added.there) == (2, 800)
    assert [added.bag.task(i).shell for i in (0, 1499, 1500, 1501)] == [
        "echo 0", "echo 1499", "echo a", "echo b"]  # fmt: skip
    spec, stored = added.bag.encode()
    again = Bag.decode(spec, list(stored).__getitem__)
    assert again.find("command=echo b") == 1501 and len(stored) == 3


def test_rows_of_a_table_with_what_is_crossed_with_them(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("name,size\na,1\nb,2\n")
    file = tmp_path / "bag.toml"
    text = 'command = "sim {name} {size} {seed}"\ncsv = "cases.csv"\n[parameters]\n'
    file.write_text(text + "seed = [1, 2]\n")
    bag = load_bag_file(file)
    (tmp_path / "cases.csv").write_text("name,size\nb,2\nc,many\n")
    file.write_text(text + "seed = [2, 3]\n")
    more = load_bag_file(file)
    _, chunks = more.encode()
    added = add(bag, Addition(more.spec.axes, list(chunks), basis=basis(more.spec)))
    assert (added.new, added.there) == (3, 1)
    new = [added.bag.params(index) for index in range(4, 7)]
    assert {"name": "b", "size": "2", "seed": 3} in new
    assert {"name": "c", "size": "many", "seed": 2} in new
    by_seed = add(added.bag, Addition(((Listed("seed", (9,)),),), some=True))
    assert by_seed.new == 3


def test_two_tasks_do_not_publish_to_one_place(tmp_path: Path) -> None:
    rules = (FileRule("out", "out-{x}-{y}"),)
    bag = bag_of(seeds(1, 3), Listed("y", ("a",)), outputs=rules, files="staged")
    assert add(bag, Addition(((Listed("y", ("b",)),),), some=True)).new == 3
    fixed = bag_of(seeds(1, 3), Listed("y", ("a",)), outputs=(FileRule("out", "out-{x}"),))
    with pytest.raises(BadInput, match="would both publish out-1"):
        add(fixed, Addition(((Listed("y", ("b",)),),), some=True))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Addition(((Listed("z", (1,)),),), some=True), "has no parameter 'z'"),
        (Addition(((Listed("x", (1,)),),)), "has the parameters x × y, not x"),
        (Addition((), syntax="listed"), "takes no tasks of this form"),
        (Addition((), basis="another"), "another command, folder, environment"),
        (Addition((), some=True), "no values are given"),
    ],
)
def test_what_does_not_suit_the_bag_is_refused(asked: Addition, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        add(bag_of(seeds(1, 2), Listed("y", ("a",))), asked)


def test_values_of_words_are_added_as_words(tmp_path: Path) -> None:
    bag = bag_from_parallel(["echo", "{}", ":::", "a", "b"], tmp_path)
    more = bag_from_parallel(["echo", "{}", ":::", "b", "c"], tmp_path)
    added = add(bag, Addition(more.spec.axes, syntax="parallel"))
    assert (added.new, added.there) == (1, 1) and added.bag.task(2).argv == ("echo", "c")


def test_a_bag_that_ends_with_a_command_of_its_own_is_not_added_to() -> None:
    bag = bag_of(seeds(1, 2), Listed("y", ("a",)), then="echo all")
    with pytest.raises(BadInput, match="a command of its own") as told:
        add(bag, Addition(((seeds(3, 4),),), some=True))
    assert "`then` runs once more" in str(told.value.remedy)


def array_of(text: str) -> Bag:
    numbers = read_array(text)
    spec = BagSpec(
        "job", "/", command=("job.sh",), syntax="batch", axes=((numbers.column,),),
        batch=Batch("job.sh", "", "/", array=True), most_running=numbers.most_running,
    )  # fmt: skip
    return Bag(spec, lambda k: b"", 7)


PARTS = st.sampled_from(
    ["1-4", "0-12:4", "2,4,6", "5-8", "9", "4-20:8", "3,7-9", "8-16:4", "20-30"]
)


@given(st.lists(PARTS, min_size=2, max_size=5))
def test_an_array_that_was_added_to_is_one_of_all_its_numbers(parts: list[str]) -> None:
    """What the newest are told of the whole of it is what they are told in one handed in so."""
    bag = array_of(f"{parts[0]}%3")
    for part in parts[1:]:
        bag = add(bag, Addition(array_of(part).spec.axes, syntax="batch")).bag
    whole = read_array(",".join(parts))
    numbers = [bag.params(index)["array"] for index in range(bag.count)]
    assert sorted(numbers) == [whole.column.reader()(at) for at in range(whole.size)]
    assert bag.spec.most_running == 3
    if bag.spec.blocks:
        env = bag.task(bag.count - 1).env
        told = [int(env[f"SLURM_ARRAY_TASK_{name}"]) for name in ("MIN", "MAX", "STEP", "COUNT")]
        assert told == [whole.least, whole.most, whole.step, whole.size]
    if bag.count > 1:
        jobs = {bag.task(index).env["SLURM_JOB_ID"] for index in range(bag.count)}
        assert len(jobs) == bag.count


def test_an_array_has_no_more_tasks_than_there_are_job_ids() -> None:
    with pytest.raises(BadInput, match="more than 10,000,000 tasks"):
        add(array_of("1-10000000"), Addition(array_of("10000001").spec.axes, syntax="batch"))


def test_what_is_no_number_is_not_added_to_an_array() -> None:
    with pytest.raises(CannotBeMade, match="invalid literal"):
        add(array_of("1-4"), Addition(((Listed("array", ("x",)),),), syntax="batch"))
