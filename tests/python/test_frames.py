"""Stored results: as records, as a DataFrame, and by the command."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path

import pytest

import tailrace
from tailrace.errors import BadInput


def measure(n: int) -> dict[str, float]:
    if n == 2:
        raise ValueError("two is not allowed")
    return {"n": n, "half": n / 2}


def test_values_of_calls_are_objects_in_python_and_text_elsewhere(
    kept: Path, executor: tailrace.Executor
) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; `pip install pandas`")
    futures = [executor.submit(measure, n) for n in range(4)]
    assert isinstance(futures[2].exception(timeout=60), ValueError)
    list(executor.map(lambda n: {"made": {n}} if n else {"made": frozenset()}, range(2)))
    frame = tailrace.results(folder=kept)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["made"]) == [frozenset(), {1}]
    assert list(frame["outcome"]) == ["succeeded", "succeeded"]


def test_records_hold_what_was_returned(kept: Path, executor: tailrace.Executor) -> None:
    returned = [1j, b"abc", {1, 2}, datetime.date(2020, 1, 2), (1, 2)]
    list(executor.map(returned.__getitem__, range(5)))
    assert [one["value"] for one in tailrace.records(folder=kept)] == returned


def test_failed_calls_tell_the_command_what_they_raised(
    kept: Path, executor: tailrace.Executor
) -> None:
    list(executor.map(lambda n: n / 2, range(3)))
    shown = _tailrace("results", "--columns", "task,value,outcome", cwd=kept)
    assert [line.split() for line in shown.splitlines()[1:4]] == [
        ["0", "0.0", "succeeded"], ["1", "0.5", "succeeded"], ["2", "1.0", "succeeded"],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="not allowed"):
        list(executor.map(measure, [2]))
    assert "ValueError: two is not allowed" in _tailrace("results", cwd=kept)
    assert 'raise ValueError("two is not allowed")' in _tailrace("logs", "0", cwd=kept)


def test_a_call_is_not_reproduced_as_a_command(kept: Path, executor: tailrace.Executor) -> None:
    list(executor.map(abs, [-1]))
    command = [sys.executable, "-m", "tailrace", "reproduce", "0"]
    done = subprocess.run(command, cwd=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is a call of abs, not a command" in done.stderr


def test_a_bag_that_is_not_there_is_named(kept: Path, executor: tailrace.Executor) -> None:
    list(executor.map(abs, [-1]))
    assert [one["value"] for one in tailrace.records("abs", folder=kept)] == [1]
    with pytest.raises(BadInput, match="there is no bag 'nothing'"):
        tailrace.records("nothing", folder=kept)


def _tailrace(*words: str, cwd: Path) -> str:
    command = [sys.executable, "-m", "tailrace", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout
