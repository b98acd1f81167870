"""Results as CSV, JSON, Parquet and a table say what the tasks said."""

from __future__ import annotations

import builtins
import csv
import io
import json
import tracemalloc
from typing import Any

import msgspec
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tailrace.bag.outcome import Outcome
from tailrace.report.columns import find_columns
from tailrace.report.parquet import ParquetMissing, write_parquet
from tailrace.report.record import Result
from tailrace.report.results import write_csv, write_json, write_json_lines
from tailrace.report.table import results_table

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = TEXT | st.sampled_from(["task", "value", "value.a", "param.task", "cost.USD", "host"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=3), max_leaves=4
)


@st.composite
def some_results(draw: st.DrawFn) -> list[Result]:
    count = draw(st.integers(0, 6))
    return [
        Result(
            task=task,
            params=draw(st.dictionaries(NAMES, SCALARS, max_size=3)),
            outcome=draw(st.sampled_from([None, *Outcome])),
            exit=draw(st.none() | st.integers(-64, 255)),
            value=draw(VALUES),
            stdout=draw(TEXT),
            run_s=draw(st.none() | st.floats(0, 1e6)),
            attempts=draw(st.integers(0, 5)),
            cost=draw(st.dictionaries(st.sampled_from(["USD", "kWh"]), st.floats(0, 9))),
        )
        for task in range(count)
    ]


def plain(task: int, **fields: Any) -> Result:
    return Result(task=task, outcome=Outcome.SUCCEEDED, exit=0, **fields)


def as_csv(results: Any) -> list[list[str]]:
    out = io.StringIO()
    write_csv(results, out)
    return list(csv.reader(io.StringIO(out.getvalue(), newline="")))


def shown(results: Any, width: int = 2000, **options: Any) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(results_table(results, **options))
    return console.file.getvalue()  # type: ignore[attr-defined]


@settings(max_examples=40, deadline=None)
@given(some_results())
def test_json_read_back_is_what_was_written(results: list[Result]) -> None:
    out = io.StringIO()
    write_json(results, out)
    assert msgspec.json.decode(out.getvalue(), type=list[Result]) == results


@settings(max_examples=40, deadline=None)
@given(some_results())
def test_each_json_line_is_one_result(results: list[Result]) -> None:
    out = io.StringIO()
    write_json_lines(results, out)
    lines = out.getvalue().split("\n")[:-1]
    assert [msgspec.json.decode(line, type=Result) for line in lines] == results


def test_a_result_object_has_exactly_the_fields_scripts_rely_on() -> None:
    out = io.StringIO()
    write_json([plain(0)], out)
    fields = "task params outcome exit value stdout stderr outputs attempts host pool"
    expected = [*fields.split(), "run_s", "turnaround_s", "cost", "from_bag"]
    assert list(json.loads(out.getvalue())[0]) == expected


@settings(max_examples=40, deadline=None)
@given(some_results())
def test_no_two_columns_have_one_name_whatever_parameters_are_called(
    results: list[Result],
) -> None:
    names = find_columns(results).names
    assert len(set(names)) == len(names)


@settings(max_examples=40, deadline=None)
@given(some_results())
def test_csv_cells_read_back_as_the_text_of_what_was_written(results: list[Result]) -> None:
    head, *rows = as_csv(iter(results))
    assert len(rows) == len(results)
    for row, result in zip(rows, results, strict=True):
        cells = dict(zip(head, row, strict=True))
        assert cells["task"] == str(result.task)
        assert cells["stdout"] == result.stdout
        assert cells["outcome"] == (result.outcome or "")


def test_objects_become_one_column_per_key_and_scalars_one_column() -> None:
    head, first, second = as_csv([plain(0, value={"a": 1}), plain(1, value={"b": [1, True]})])
    assert head[1:3] == ["a", "b"]
    assert (first[1:3], second[1:3]) == (["1", ""], ["", "[1,true]"])
    assert as_csv([plain(0, value={"a": 1}), plain(1, value=7)])[1][1] == '{"a":1}'


def test_a_key_called_like_a_parameter_or_a_field_is_told_apart() -> None:
    value = {"alpha": 1, "host": 2, "area": 3, "value.x": 4}
    result = plain(0, params={"alpha": 0.5}, value=value, host="node")
    head, row = as_csv([result])
    cells = dict(zip(head, row, strict=True))
    assert (cells["alpha"], cells["value.alpha"], cells["area"]) == ("0.5", "1", "3")
    assert (cells["host"], cells["value.host"], cells["value.value.x"]) == ("node", "2", "4")
    table = shown([result]).split("\n")[0].split()
    assert [name for name in table if name in head] == [
        "task", "alpha", "value.alpha", "value.host", "area", "value.value.x", "outcome", "host",
    ]  # fmt: skip


def test_what_only_the_table_has_gives_way_to_a_parameter_of_that_name() -> None:
    result = plain(0, params={"run": 3}, value={"why": "so"}, run_s=1.5)
    head, row = shown([result], why=lambda _: "bad luck").splitlines()[:2]
    assert head.split() == ["task", "run", "why", "outcome", "(run)", "(why)"]
    assert row.split() == ["0", "3", "so", "succeeded", "1.5", "s", "bad", "luck"]


def test_a_parameter_called_like_a_field_is_told_apart() -> None:
    head, row = as_csv([plain(3, params={"task": "x", "alpha": 0.5, "host": "y"}, host="node")])
    cells = dict(zip(head, row, strict=True))
    assert (cells["task"], cells["param.task"], cells["alpha"]) == ("3", "x", "0.5")
    assert (cells["host"], cells["param.host"]) == ("node", "y")


@settings(max_examples=40, deadline=None)
@given(some_results())
def test_any_results_make_a_parquet_file(
    tmp_path_factory: pytest.TempPathFactory, results: list[Result]
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "r.parquet"
    write_parquet(iter(results), path)
    table = pyarrow.parquet.read_table(path)
    assert table.column("task").to_pylist() == [result.task for result in results]
    assert table.column("stdout").to_pylist() == [result.stdout for result in results]


def test_numbers_stay_numbers_in_parquet_and_mixed_columns_become_text(tmp_path: Any) -> None:
    results = [
        plain(0, params={"n": 1, "x": 1, "mix": 1}, value={"ok": True}),
        plain(1, params={"n": 2, "x": 0.5, "mix": "two"}, value={"ok": None}),
    ]
    notes = write_parquet(results, tmp_path / "r.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert notes == ["column mix mixes kinds of values, so it is written as text"]
    columns = {name: table.column(name).to_pylist() for name in ("n", "x", "mix", "ok")}
    assert columns == {"n": [1, 2], "x": [1.0, 0.5], "mix": ["1", "two"], "ok": [True, None]}


def test_without_pyarrow_its_install_is_told(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ParquetMissing, match="pip install pyarrow") as caught:
        write_parquet([plain(0)], tmp_path / "r.parquet")
    assert caught.value.exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "table"])
def test_many_results_need_little_memory(tmp_path: Any, kind: str) -> None:
    many = (plain(i, params={"a": i}, stdout="x" * 20_000) for i in range(4_000))  # 80 MB in all
    tracemalloc.start()
    with open(tmp_path / "out", "w") as out:
        if kind == "csv":
            write_csv(many, out)
        elif kind == "json":
            write_json(many, out)
        elif kind == "table":
            results_table(many)
        else:
            import tailrace.report.parquet as parquet

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(parquet, "CHARACTERS", 2_000_000)
                write_parquet(many, tmp_path / "out.parquet")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15_000_000


def test_what_came_out_stands_before_how_it_came_whatever_else_is_told() -> None:
    fields = {"params": {"p": 1}, "value": {"y": 2}, "host": "h", "cost": {"USD": 0.5}}
    taken = plain(0, from_bag=1, run_s=1.0, attempts=2, **fields)
    head = shown([taken, plain(1, attempts=1, **fields)]).splitlines()[0].split()
    assert head == ["task", "p", "y", "outcome", "run", "attempts", "host", "cost.USD", "from_bag"]


def test_a_long_table_shows_both_ends_and_says_how_many_are_between() -> None:
    text = shown(plain(i, params={"a": i}) for i in range(1000))
    assert "… 970 more, use --all" in text
    assert [line.split()[0] for line in text.splitlines()[1:]][18:22] == ["18", "19", "…", "990"]
    assert "more" not in shown(plain(i) for i in range(30))
    assert len(shown((plain(i) for i in range(200)), every=True).splitlines()) == 201


def test_the_table_takes_user_text_neither_as_markup_nor_as_terminal_control() -> None:
    text = shown([plain(0, params={"[bold]p": "[red]x\x1b[2J"}, value={"k": "[/]"})])
    assert "[bold]p" in text
    assert "[red]x·[2J" in text
    assert "\x1b" not in text


@settings(max_examples=40, deadline=None)
@given(some_results())
def test_any_results_make_a_table_of_one_line_each(results: list[Result]) -> None:
    text = shown(results)
    assert text.startswith("task")
    assert text.count("\n") == len(results) + 1


def test_in_a_narrow_terminal_text_gives_way_and_numbers_and_outcome_stay() -> None:
    params = {f"parameter{i}": "some longish text" for i in range(5)}
    narrow = shown([plain(0, params=params, value={"energy": 1.23457}, run_s=1.5)], width=60)
    assert narrow.count("\n") == 2
    assert all(word in narrow for word in ("task", "1.23457", "succeeded", "1.5 s"))


def test_the_table_says_why_a_task_failed() -> None:
    failed = Result(task=1, outcome=Outcome.TASK_FAILED, exit=1, stderr="a\nno luck \n")
    assert "no luck" in shown([plain(0, stderr="a warning"), failed])
    assert "warning" not in shown([plain(0, stderr="a warning"), failed])
    assert "why" not in shown([plain(0, stderr="a warning")])
    assert "because" in shown([plain(0)], why=lambda _: "because")


def test_the_table_shows_the_last_line_printed_where_there_are_no_values() -> None:
    assert "pi is 3.14" in shown([plain(0, stdout="working\npi is 3.14\n")])
    assert "working" not in shown([plain(0, stdout="working\n", value=3.14)])
