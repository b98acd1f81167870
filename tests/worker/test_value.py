"""Where a task's value comes from."""

from __future__ import annotations

import pytest

from tailrace.worker import searching
from tailrace.worker.searching import Unsearchable, by_regex, search
from tailrace.worker.value import Unusable, from_last_line, parse

from .conftest import Worker
from .scripted_desk import ScriptedDesk
from .test_tasks import run


def test_a_regex_takes_the_first_group_of_the_last_match() -> None:
    assert by_regex(r"loss=(\S+)", "loss=3\nloss=1.5\nloss=-2e-3\nend") == -0.002
    assert by_regex(r"n=(\d+)", "n=12") == 12
    assert by_regex(r"n=(\w+)", "n=1_2") == "1_2"
    assert by_regex(r"is (\w+)", "it is nan\nit is warm") == "warm"
    assert by_regex(r"is (\w+)", "it is nan") == "nan"
    assert by_regex(r"^\d+$", "1\n22\nx") == 22
    assert by_regex(r"no", "yes") is None


def test_named_groups_make_an_object() -> None:
    pattern = r"(?P<name>\w+) (?P<x>[\d.]+)(?P<unit>ms)?"
    assert by_regex(pattern, "a 1\nb 2.5\n") == {"name": "b", "x": 2.5, "unit": None}


def test_a_bad_regex_is_said() -> None:
    with pytest.raises(Unsearchable, match="regex"):
        search("(", "x")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"(a+)+$", "a" * 60 + "b"), ("a*b", "a" * 1_000_000), (r"(a|a)*$", "a" * 60 + "b")],
)
def test_a_regex_that_takes_for_ever_is_given_up(
    pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "LIMIT_S", 0.2)
    with pytest.raises(Unsearchable, match=r"not found in 0.2 s"):
        search(pattern, text)
    with pytest.raises(Unsearchable, match=r"not found in 0.1 s"):
        search(pattern, text)


@pytest.mark.parametrize("pattern", [r"(?P<x>(?:\d+,)*\d+);(?P<y>\w+)", r"(\d+);", r"(x)?(y|z)?;"])
def test_a_child_finds_what_would_be_found_here(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "1,2,3;abc\n7;d"
    here = by_regex(pattern, text)
    monkeypatch.setattr(searching, "STEPS", 0)
    assert search(pattern, text) == here


def test_the_last_line_counts_if_it_is_a_json_object() -> None:
    assert from_last_line('x\n{"a": [1, 2]}\n\n') == ({"a": [1, 2]}, "")
    for no_value in ('{"a": 1}\nx\n', "[1]", "{broken}", '{"a": NaN, "b": "\\ud800"}'):
        assert from_last_line(no_value) == (None, "")


def test_numbers_that_json_has_not_are_null_and_named() -> None:
    line = '{"y": 0.1, "fit": {"loss": NaN, "grid": [1, -Infinity]}, "s": "NaN", "z": 1e999}'
    fit = {"loss": None, "grid": [1, None]}
    note = "not a finite number, so null in the value: fit.loss, fit.grid[1], z"
    assert from_last_line(line) == ({"y": 0.1, "fit": fit, "s": "NaN", "z": None}, note)
    many = from_last_line('{"a": [' + "NaN, " * 9 + "NaN]}")
    assert many.value == {"a": [None] * 10} and many.note.endswith("a[0], a[1], a[2] and 7 more")
    assert from_last_line('{"a": ' + "[" * 500 + "NaN" + "]" * 500 + "}") == (None, "")


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[1e999]", '"\\ud800"', "[" * 500 + "]" * 500, "[" * 10**6]
)
def test_what_is_not_strict_json_is_refused(text: str) -> None:
    with pytest.raises(Unusable, match="not JSON"):
        parse(text, "it")


def test_values_of_real_tasks(desk: ScriptedDesk, worker: Worker) -> None:
    assert run(desk, shell="echo '{\"a\": 1}' > $TAILRACE_RESULT; echo '{}'")["value"] == {"a": 1}
    assert run(desk, shell="echo 5 > $TAILRACE_RESULT", result={"regex": "x"})["value"] == 5
    assert run(desk, shell="echo done; echo '{\"b\": 2}'")["value"] == {"b": 2}
    assert run(desk, shell="echo e=1; echo e=2", result={"regex": "e=(.*)"})["value"] == 2
    assert run(desk, shell="echo hello")["value"] is None
    assert run(desk, shell="echo '{\"b\": 2}'; exit 1")["value"] is None


def test_a_regex_that_takes_for_ever_does_not_keep_the_machine(
    desk: ScriptedDesk, worker: Worker
) -> None:
    slow = {"regex": "(a+)+$"}
    found = run(desk, shell="printf '%060d' 0 | tr 0 a; echo b", result=slow)
    assert (found["outcome"], found["value"]) == ("task_failed", None)
    assert "regex was not found in 2 s" in found["error"]
    assert run(desk, shell="echo e=1", result={"regex": "e=(.*)"})["value"] == 1


def test_a_result_that_cannot_be_used_is_a_failure(desk: ScriptedDesk, worker: Worker) -> None:
    bad = run(desk, shell="echo hello > $TAILRACE_RESULT")
    assert bad["value"] is None and "not JSON" in bad["error"]
    assert (bad["outcome"], bad["exit"]) == ("task_failed", 0)
    large = run(desk, shell="head -c 2000000 /dev/zero > $TAILRACE_RESULT")
    assert large["value"] is None and "2000000 bytes" in large["error"]
    link = "ln -s /no/where $TAILRACE_RESULT"
    for strange in ("mkdir -p $TAILRACE_RESULT/a", "mkfifo $TAILRACE_RESULT", link):
        result = run(desk, shell=strange)
        assert result["value"] is None and "not a file" in result["error"]
        assert result["outcome"] == "task_failed"
    assert run(desk, shell="true")["error"] == ""
